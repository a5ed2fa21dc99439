/* What the service says, in its own words: camelCase JSON of `/api/v1`, checked against its OpenAPI. */

export type Health = "Healthy" | "Progressing" | "Degraded" | "Suspended" | "Missing" | "Unknown";
export type Sync = "Synced" | "OutOfSync" | "Unknown";
export type Phase = "" | "Running" | "Terminating" | "Failed" | "Error" | "Succeeded";
export type AgentStatus = "connected" | "stale" | "disconnected" | "lost" | "waiting" | "revoked";
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
export type Labels = Record<string, string>;

export interface Page<T> {
  items: T[];
  next: string | null;
  total?: number;
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  field?: string;
  rule?: string;
  remedy?: string;
}

export interface Me {
  principal: { id: string; name: string; displayName: string; kind: string };
  csrf: string;
  account: { id: string; name: string };
  permissions: { permission: string; scope: Where }[];
}

/** Where a permission holds: where nothing narrower is named, in the whole account. */
export interface Where {
  account?: string;
  organisation?: string | null;
  project?: string | null;
}

/** As the agent writes it: Argo CD's field is the time of its last transition. */
export interface Condition {
  type: string;
  message: string;
  since?: string;
  lastTransitionTime?: string;
}

export interface Commit {
  id: string;
  author: string;
  /** The first line; empty where no agent told of it. */
  message: string;
  time: string;
}

/** The deployment that runs; `by` is a name, or `automated`. */
export interface Running {
  revision: string;
  commit: Commit;
  since: string | null;
  by: string;
  /** An earlier one runs than Git wants, because somebody went back to it. */
  rolledBack: boolean;
}

/** The deepest ill object; `object` is `group/kind/namespace/name`. */
export interface Cause {
  object: string;
  health: string;
  reason: string;
  message: string;
  since: string;
}

/** A sync that failed; `retrying`: the agent tries it again. */
export interface SyncFailure {
  object: string;
  message: string;
  revision: string;
  since: string;
  retries: number;
  retrying: boolean;
}

/** Why an application needs a person; empty: it does not. */
export type Attention = "" | "Degraded" | "Unreadable" | "SyncFailed" | "Missing" | "Stuck" | "OutOfSync";

export interface Application {
  id: string;
  agent: { id: string; name: string; status: AgentStatus };
  namespace: string;
  name: string;
  project: string;
  environment: string;
  region: string;
  service: string;
  labels: Labels;
  repository: string;
  path: string;
  targetRevision: string;
  revision: string;
  running: Running;
  wanted: { revision: string; commit: Commit };
  sync: Sync;
  syncFailure: SyncFailure | null;
  attention: Attention;
  health: Health;
  cause: Cause | null;
  healthMessage: string;
  phase: Phase;
  automated: boolean;
  images: string[];
  conditions: Condition[];
  syncSince: string | null;
  healthSince: string | null;
  asOf: string;
  suspect: boolean;
}

export interface ApplicationDetail extends Application {
  spec: JsonObject;
  status: JsonObject;
  /** What a change of it must name, so that it does not undo another person's. */
  version: string;
  annotations: Labels;
}

export interface TreeNode {
  uid?: string;
  group: string;
  version: string;
  kind: string;
  namespace: string;
  name: string;
  health: Health | "";
  healthMessage: string;
  sync: Sync | "";
  parents: string[];
  images: string[];
  createdAt: string | null;
  info: string[];
}

export interface FieldChange {
  path: string;
  desired: Json;
  live: Json;
}

export interface ObjectDiff {
  key: string;
  modified: boolean;
  desired: JsonObject | null;
  live: JsonObject | null;
  changes: FieldChange[];
}

export interface KubernetesEvent {
  type: string;
  reason: string;
  message: string;
  count: number;
  lastSeen: string;
}

export interface Hop {
  name: string;
  time: string;
  ms: number;
}

export type PushOutcome = "synced" | "failed" | "held" | "superseded" | "running";
/** What an operation was for; empty where the agent did not say. */
export type OperationKind = "" | "sync" | "auto-sync" | "self-heal" | "rollback";

export interface Push {
  correlation: string;
  began: string;
  commit: Commit;
  hops: Hop[];
  totalMs: number;
  ended: string | null;
  outcome: PushOutcome;
  /** Why it ended so. */
  message: string;
}

export interface HistoryEntry {
  id: number;
  revision: string;
  deployedAt: string;
  initiatedBy: string;
  kind: OperationKind;
  author: string;
  message: string;
  seconds: number;
}

export interface Fact {
  id: string;
  agent: string;
  type: string;
  subject: string;
  project: string;
  environment?: string;
  correlation: string;
  time: string;
  /** What the agent's own clock said, where it is apart from the service's. */
  agentTime: string | null;
  body: JsonObject;
}

export interface NeedsYou {
  application: Application;
  since: string;
  cause: string;
  commit: string;
  author: string;
  /** The first line of what the commit says; empty where the agent told none. */
  message: string;
}

export interface FleetCell {
  environment: string;
  region: string;
  health: Partial<Record<Health, number>>;
  outOfSync: number;
  driftMinutesToday: number;
  agents: number;
  agentsConnected: number;
  asOf: string;
}

export interface FleetPush {
  repository: string;
  commit: string;
  author: string;
  message: string;
  applications: number;
  synced: number;
  failed: number;
  p50Ms: number;
  at: string;
}

export interface Fleet {
  asOf: string;
  needYou: NeedsYou[];
  cells: FleetCell[];
  pushes: FleetPush[];
  counts: { applications: number; outOfSync: number; health: Partial<Record<Health, number>> };
}

export interface FleetThen {
  time: string;
  applications: {
    subject: string;
    agent: string;
    environment: string;
    health: Health;
    sync: Sync;
    revision: string;
  }[];
}

/** A pod that runs for an application; `agent` is its name, `application` an id; `revision`: what was synced. */
export interface Instance {
  uid: string;
  agent: string;
  application: string;
  applicationName: string;
  service: string;
  environment: string;
  region: string;
  namespace: string;
  pod: string;
  images: string[];
  revision: string;
  ready: boolean;
  startedAt: string | null;
}

/** What runs of a service in one environment. */
export interface ServiceCell {
  name: string;
  environment: string;
  regions: string[];
  applications: number;
  instances: number;
  ready: number;
  healthy: number;
  outOfSync: number;
  /** Two of one service are a rollout under way, or two applications. */
  images: { image: string; instances: number; ready: number }[];
  revisions: string[];
  /** Instances beyond what an agent tells. */
  leftOut: number;
}

/** A name for filters of the list of applications, as they stand in the address bar. */
export interface SavedFilter {
  id: string;
  name: string;
  query: string;
  shared: boolean;
  own: boolean;
}

export interface Drift {
  id: string;
  agent: string;
  subject: string;
  project: string;
  object: string;
  /** The values are left out where they may be secret. */
  fields: { path: string; from?: Json; to?: Json }[];
  actor: string;
  beganAt: string;
  endedAt: string | null;
  agentName?: string;
  endedHow: "" | "healed" | "synced" | "accepted" | "gone";
}

/** What this control plane may do there, as its owner says. */
export interface Allowed {
  kinds?: string[];
  namespaces?: string[];
  objectKinds?: string[];
  clusterScoped?: boolean;
  override?: boolean;
  maxPerMinute?: number;
  maxReadsPerMinute?: number;
  readOnly?: boolean;
  configMaps?: string[];
  problem?: string;
}

export interface AgentComponent {
  name: string;
  status: string;
  message: string;
  version: string;
}

export interface Agent {
  id: string;
  name: string;
  environment: string;
  region: string;
  labels: Labels;
  status: AgentStatus;
  heardAt: string | null;
  roundTripMs: number | null;
  clockSkewMs: number | null;
  version: string;
  upgradeAvailable: string | null;
  capabilities: string[];
  allowed: Allowed;
  components: AgentComponent[];
  rootsInStep: boolean | null;
  rootsAt: string | null;
  applications: number;
  quarantined: null | { epoch: string; reason: string; since: string };
  /** So many are missing at once that nobody believes it yet: how many of each kind. */
  deletions: null | { kinds: Record<string, number>; since: string };
  /** What it tells was dropped here, and is being asked for again. */
  rebuildingSince: string | null;
}

export interface Task {
  id: string;
  kind: string;
  subject: string;
  phase: "queued" | "offered" | "running" | "succeeded" | "failed" | "expired" | "cancelled" | "unknown";
  code: string;
  message: string;
  actor: string;
  result: Json;
  createdAt: string;
  finishedAt: string | null;
}

export interface SyncRequest {
  revision?: string;
  prune?: boolean;
  dryRun?: boolean;
  resources?: { group: string; kind: string; namespace: string; name: string }[];
  options?: string[];
}

export interface SyncPreview {
  create: string[];
  change: string[];
  prune: string[];
}

/** A credential never travels in clear: a reference to a Secret in the cluster, or a box only the agent opens. */
export type Credential = { secretRef: { name: string; namespace?: string } } | { sealed: string };

export interface Connection {
  id: string;
  agent: { id: string; name: string };
  name: string;
  url: string;
  type: string;
  project: string;
  status: string;
  message: string;
  /** When it was last used. */
  attemptedAt: string;
  asOf: string;
}

/** What applications of an Argo CD project may deploy, from where, to where; of one agent. */
export interface AppProject {
  id: string;
  agent: { id: string; name: string };
  environment: string;
  region: string;
  namespace: string;
  name: string;
  description: string;
  applications: number;
  asOf: string;
}

export interface AppProjectDetail extends AppProject {
  version: string;
  labels: Labels;
  annotations: Labels;
  spec: JsonObject;
}

export interface AuditEntry {
  sequence: number;
  id: string;
  time: string;
  actor: string;
  address: string;
  action: string;
  resource: string;
  project: string;
  decision: string;
  outcome: string;
  source: string;
  detail: JsonObject;
  hash: string;
}

export interface Organisation {
  id: string;
  name: string;
  displayName: string;
}

export interface Project extends Organisation {
  organisation: string;
  appProjects: string[];
}

export interface Principal {
  id: string;
  kind: "user" | "service";
  name: string;
  displayName: string;
  disabled: boolean;
  version: number;
  createdAt: string;
}

export interface OwnSession {
  id: string;
  current: boolean;
  address: string;
  browser: string;
  createdAt: string;
  seenAt: string;
  expiresAt: string;
}

export interface Token {
  id: string;
  name: string;
  permissions: string[];
  createdAt: string;
  expiresAt: string | null;
  usedAt: string | null;
  revokedAt: string | null;
}

export interface Role {
  id: string;
  name: string;
  permissions: string[];
  builtIn: boolean;
}

export interface Binding {
  id: string;
  principal: string;
  role: string;
  organisation: string | null;
  project: string | null;
  resourceGroup: string | null;
}

/** Applications by their labels, to narrow a binding to. */
export interface ResourceGroup {
  id: string;
  name: string;
  labels: Labels;
  version: number;
}

export interface Webhook {
  id: string;
  name: string;
  url: string;
  types: string[];
  project: string;
  enabled: boolean;
  version: number;
  createdAt: string | null;
}

export interface Delivery {
  id: string;
  state: "waiting" | "delivered" | "dead";
  type: string;
  attempts: number;
  answer: string;
  nextAt: string | null;
  createdAt: string | null;
}

export interface Change {
  id: string;
  event: string;
  type: string;
  subject: string;
  agent: string;
  project: string;
  time: string;
  body: JsonObject;
}
