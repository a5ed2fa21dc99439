/* Conditions of an application in plain words: what it means and what a person does about it. */

interface Words {
  title: string;
  advice: string;
  bad: boolean;
}

const words = (title: string, advice: string, bad = true): Words => ({ title, advice, bad });

const WORDS: Record<string, Words> = {
  ComparisonError: words(
    "The source cannot be rendered or compared, or the destination cluster cannot be reached.",
    "Read the message: correct the source in Git, or the cluster's Secret; it is tried again automatically.",
  ),
  InvalidSpecError: words("The Application spec is invalid.", "Correct the spec."),
  SyncError: words(
    "The last automatic sync failed and will not be retried for this commit.",
    "Push a fix, or sync by hand.",
  ),
  HydrationError: words(
    "The manifests of the dry source are not committed; what the branch holds stays deployed.",
    "Read the message: it names the source, the branch or the Secret; it is tried again automatically.",
  ),
  DeletionError: words(
    "The deletion does not finish.",
    "Read the message: it names the hook, the object or the cluster that the deletion waits for.",
  ),
  UnknownError: words(
    "Something unexpected happened.",
    "Refresh; if it stays, the message is for the maintainers.",
  ),
  SharedResourceWarning: words(
    "Another application claims the same object.",
    "Let only one of them own it.",
    false,
  ),
  RepeatedResourceWarning: words(
    "The source contains the same object twice.",
    "Remove one of the two.",
    false,
  ),
  ExcludedResourceWarning: words(
    "The source contains an object that this agent is told to leave out.",
    "Nothing, if that is meant.",
    false,
  ),
  OrphanedResourceWarning: words(
    "The namespace holds objects that no application owns.",
    "Adopt or delete them.",
    false,
  ),
  DeletionConfirmationWarning: words(
    "The deletion waits for an approval.",
    "Approve it, if the objects that the message names may go.",
    false,
  ),
  AutoSyncHeldWarning: words(
    "Automated syncs are held: this version does not act on something that protects the application.",
    "Remove what the message names, or sync by hand.",
  ),
  SyncWindowWarning: words(
    "Automated syncs wait: a sync window of the project is closed.",
    "Wait for the time that the message names, or sync by hand where the window lets people through.",
    false,
  ),
  IgnoreRuleWarning: words(
    "A rule of ignoreDifferences has no effect.",
    "Correct the rule that the message names; until then its fields count as differences.",
    false,
  ),
  PruneHeldWarning: words(
    "Objects that Git no longer has are not pruned.",
    "Their kind is not watched now: do what the message says; they are pruned as soon as it is.",
    false,
  ),
  UnsupportedFieldWarning: words(
    "The Application uses a field that this version does not act on.",
    "Upgrade the agent, or remove the field.",
    false,
  ),
};

export function inWords(type: string): Words {
  return (
    WORDS[type] ??
    words(type.replace(/([a-z])([A-Z])/g, "$1 $2"), "Read the message.", !type.endsWith("Warning"))
  );
}
