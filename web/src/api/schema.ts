/* Types of the service's API, generated from its OpenAPI document by `make docs`. */

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
export type Labels = Record<string, string>;

/** One page of a list. `next` is the cursor of the following page, null on the last one. */
export interface Page<T> {
  items: T[];
  next: string | null;
  total: number | null;
}

export interface AccountSummary {
  id: string;
  name: string;
}

export interface ActionRequest {
  group?: string;
  kind: string;
  namespace?: string;
  name: string;
  uid?: string;
  action: string;
  params?: Labels;
}

export interface AgentChange {
  environment?: string;
  region?: string;
  labels?: Labels;
  version?: number | null;
}

/** A part that an agent needs: NATS, the API server. */
export interface AgentComponent {
  name: string;
  status: string;
  message: string;
  version: string;
}

/**
 * What the owner of a cluster lets this control plane do there, as its agent reported it.
 *
 * An agent that has not connected reports nothing, and an older one leaves fields out.
 */
export interface AgentPolicy {
  kinds?: string[];
  namespaces?: string[];
  objectKinds?: string[];
  clusterScoped?: boolean;
  override?: boolean;
  overrideWindow?: boolean;
  exec?: boolean;
  maxPerMinute?: number;
  maxReadsPerMinute?: number;
  readOnly?: boolean;
  configMaps?: string[];
  problem?: string;
}

export type AgentStatus = "connected" | "disconnected" | "lost" | "revoked" | "stale" | "waiting";

export interface AgentSummary {
  id: string;
  name: string;
  environment: string;
  region: string;
  labels: Labels;
  organisation: string | null;
  project: string | null;
  status: AgentStatus;
  heardAt: string | null;
  connectedAt: string | null;
  roundTripMs: number | null;
  clockSkewMs: number | null;
  version: string;
  upgradeAvailable: string | null;
  capabilities: string[];
  allowed: AgentPolicy;
  components: AgentComponent[];
  rootsInStep: boolean | null;
  rootsAt: string | null;
  applications: number;
  quarantined: QuarantinedEpoch | null;
  deletions: DeletionHold | null;
  rebuildingSince: string | null;
  edition: number;
}

export interface AppProjectChange {
  manifest: ProjectManifest;
  version?: string | null;
}

/** `version` is what If-Match takes; it changes with spec, labels and annotations. */
export interface AppProjectDetail {
  id: string;
  agent: ReportingAgent;
  environment: string;
  region: string;
  namespace: string;
  name: string;
  description: string;
  applications: number;
  asOf: string;
  version: string;
  labels: Labels;
  annotations: Labels;
  spec: JsonObject;
}

/** `applications`: how many of its agent are of it. */
export interface AppProjectSummary {
  id: string;
  agent: ReportingAgent;
  environment: string;
  region: string;
  namespace: string;
  name: string;
  description: string;
  applications: number;
  asOf: string;
}

export interface ApplicationAgent {
  id: string;
  name: string;
  status: AgentStatus;
}

export interface ApplicationAtTime {
  id: string;
  subject: string;
  agent: string;
  environment: string;
  health: HealthStatus;
  sync: SyncStatus;
  revision: string;
}

/** The deepest ill object: `object` is `group/kind/namespace/name`. */
export interface ApplicationCause {
  object: string;
  health: string;
  reason: string;
  message: string;
  since: string;
}

export interface ApplicationChange {
  manifest: ApplicationManifest;
  version?: string | null;
}

export interface ApplicationCondition {
  type: string;
  message: string;
  since: string;
}

/** `version` is what If-Match takes; a change of the status leaves it equal. */
export interface ApplicationDetail {
  id: string;
  agent: ApplicationAgent;
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
  running: RunningDeployment;
  wanted: DesiredRevision;
  sync: SyncStatus;
  syncFailure: ApplicationSyncFailure | null;
  attention: Attention;
  health: HealthStatus;
  cause: ApplicationCause | null;
  healthMessage: string;
  phase: "" | "Error" | "Failed" | "Running" | "Succeeded" | "Terminating";
  automated: boolean;
  images: string[];
  conditions: ApplicationCondition[];
  syncSince: string | null;
  healthSince: string | null;
  asOf: string;
  suspect: boolean;
  version: string;
  spec: JsonObject;
  status: JsonObject;
  annotations: Labels;
}

/** An Argo CD Application. */
export interface ApplicationManifest {
  apiVersion?: string;
  kind?: string;
  metadata: ManifestMetadata;
  spec: JsonObject;
}

export interface ApplicationNeedingAction {
  application: ApplicationSummary;
  since: string;
  cause: string;
  commit: string;
  author: string;
  message: string;
}

export type ApplicationSort = "changed" | "name" | "worst";

/** Of the agent's newest report; `as_of` says how old that is. */
export interface ApplicationSummary {
  id: string;
  agent: ApplicationAgent;
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
  running: RunningDeployment;
  wanted: DesiredRevision;
  sync: SyncStatus;
  syncFailure: ApplicationSyncFailure | null;
  attention: Attention;
  health: HealthStatus;
  cause: ApplicationCause | null;
  healthMessage: string;
  phase: "" | "Error" | "Failed" | "Running" | "Succeeded" | "Terminating";
  automated: boolean;
  images: string[];
  conditions: ApplicationCondition[];
  syncSince: string | null;
  healthSince: string | null;
  asOf: string;
  suspect: boolean;
}

/** A sync that failed; `retrying`: the agent tries it again. */
export interface ApplicationSyncFailure {
  object: string;
  message: string;
  revision: string;
  since: string;
  retries: number;
  retrying: boolean;
}

export type Attention = "" | "Degraded" | "Missing" | "OutOfSync" | "Stuck" | "SyncFailed" | "Unreadable";

export interface AuditRecord {
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

export interface AuditVerification {
  ok: boolean;
  entries: number;
  head: string;
  signed: boolean;
  anchors: number;
  trimmed: number;
  brokenAt: number | null;
  reason: string;
}

/** As for the list. */
export interface BulkFilter {
  limit?: number;
  cursor?: string;
  search?: string;
  project?: string;
  environment?: string;
  region?: string;
  agent?: string;
  health?: string;
  sync?: string;
  label?: string;
  service?: string;
  attention?: string;
  sort?: ApplicationSort;
}

export interface BulkRefreshRequest {
  ids?: string[] | null;
  filter?: BulkFilter | null;
  hard?: boolean;
}

export interface BulkSyncRequest {
  ids?: string[] | null;
  filter?: BulkFilter | null;
  prune?: boolean;
  dryRun?: boolean;
  options?: string[];
}

/** What subscribers and webhooks get of a change; `agent` is an id. */
export interface ChangePayload {
  type: string;
  subject: string;
  agent: string;
  project: string;
  time: string;
  body: JsonObject;
}

/** A field that changes; null stands for an absent one. */
export interface ChangedField {
  path: string;
  before: Json;
  after: Json;
}

/** Empty where it is not known; `message` is the first line, `author` a name. */
export interface CommitInfo {
  id: string;
  author: string;
  message: string;
  time: string;
}

/** A Secret of the agent's cluster, in its namespace unless named. */
export interface ConnectionSecretRef {
  name: string;
  namespace?: string;
  key?: string;
}

/** `subType` to `expiresAt` are of certificates, known hosts and keys; empty where unknown. */
export interface ConnectionSummary {
  id: string;
  agent: ReportingAgent;
  name: string;
  url: string;
  type: string;
  subType: string;
  fingerprint: string;
  info: string;
  expiresAt: string;
  project: string;
  version: string;
  status: string;
  message: string;
  attemptedAt: string;
  contactAt: string;
  serverVersion: string;
  objects: number;
  applications: number;
  asOf: string;
}

/** The secret that deliveries are signed with, shown this once. */
export interface CreatedWebhook {
  id: string;
  name: string;
  url: string;
  types: string[];
  project: string;
  enabled: boolean;
  cursor: string;
  version: number;
  createdAt: string;
  secret: string;
}

export interface CurrentPrincipal {
  principal: Principal;
  csrf: string;
  account: AccountSummary;
  permissions: GrantedPermission[];
}

/** A link to another tool; `iconClass` is a class of Font Awesome. */
export interface DeepLinkItem {
  title: string;
  url: string;
  description: string;
  iconClass: string;
}

/** So many objects are missing at once that nobody believes it yet. */
export interface DeletionHold {
  kinds: Record<string, number>;
  since: string;
}

export interface DeletionRequest {
  group?: string;
  kind: string;
  namespace?: string;
  name: string;
  uid?: string;
  propagation?: "background" | "foreground" | "orphan";
  force?: boolean;
}

export interface DeploymentEntry {
  id: number;
  revision: string;
  revisions: string[];
  deployedAt: string;
  initiatedBy: string;
  kind: OperationKind;
  author: string;
  message: string;
  seconds: number;
}

/** What `targetRevision` means now, with the commit of that revision. */
export interface DesiredRevision {
  revision: string;
  commit: CommitInfo;
}

/** `revision`: the commit that was compared. */
export interface DiffAnswer {
  revision: string;
  objects: ObjectDiff[];
}

/** `actor`: the field manager that wrote, where it is known. */
export interface DriftEntry {
  id: string;
  agent: string;
  agentName: string;
  application: string;
  subject: string;
  project: string;
  environment: string;
  region: string;
  object: string;
  fields: DriftField[];
  actor: string;
  beganAt: string;
  endedAt: string | null;
  endedHow: EndedHow;
  seconds: number;
}

/** Values do not leave the cluster. */
export interface DriftField {
  path: string;
}

export interface DriftMinutes {
  day: string;
  application: string;
  subject: string;
  environment: string;
  region: string;
  minutes: number;
}

/** `patch` is a JSON merge patch; a mask in it stands for the value of the live object. */
export interface EditRequest {
  group?: string;
  kind: string;
  namespace?: string;
  name: string;
  uid?: string;
  patch: JsonObject;
  resourceVersion?: string;
}

export type EndedHow = "" | "accepted" | "gone" | "healed" | "synced";

/** Shown this once. */
export interface EnrolmentToken {
  token: string;
  expiresAt: string;
}

export interface Environment {
  applications: number;
  instances: number;
  ready: number;
  healthy: number;
  outOfSync: number;
  name: string;
  regions: string[];
  agents: number;
}

/** The newest first. */
export interface EventsAnswer {
  items: KubernetesEvent[];
}

/** A field whose desired and live value differ; null where a side has none. */
export interface FieldChange {
  path: string;
  desired: Json;
  live: Json;
}

export interface Fleet {
  asOf: string;
  needYou: ApplicationNeedingAction[];
  cells: FleetCell[];
  pushes: FleetPush[];
  counts: FleetCounts;
}

export interface FleetAtTime {
  time: string;
  applications: ApplicationAtTime[];
}

export interface FleetCell {
  environment: string;
  region: string;
  health: Record<string, number>;
  outOfSync: number;
  driftMinutesToday: number;
  agents: number;
  agentsConnected: number;
  asOf: string;
}

export interface FleetCounts {
  applications: number;
  outOfSync: number;
  health: Record<string, number>;
}

/** `applications` it reached: `synced` have it, `failed` could not, the others are under way. */
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

export interface GrantedPermission {
  permission: Permission;
  scope: PermissionScope;
}

export type HealthStatus = "Degraded" | "Healthy" | "Missing" | "Progressing" | "Suspended" | "Unknown";

/** A pod that runs, or is about to; `revision`: the commit that was synced last. */
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

export interface IssuedToken {
  id: string;
  name: string;
  permissions: string[];
  createdAt: string;
  expiresAt: string | null;
  usedAt: string | null;
  revokedAt: string | null;
  token: string;
}

/** `object` is `kind/name`. */
export interface KubernetesEvent {
  type: string;
  reason: string;
  message: string;
  count: number;
  lastSeen: string;
  object: string;
}

/** The links whose conditions hold; `problems` say which cannot be made, and why. */
export interface LinksAnswer {
  items: DeepLinkItem[];
  problems: string[];
}

export interface LoginRequest {
  name: string;
  password: string;
  account?: string;
}

export interface LoginResult {
  principal: Principal;
  csrf: string;
}

/** What a writer may say of an Application or AppProject; the rest is the cluster's. */
export interface ManifestMetadata {
  name: string;
  namespace?: string;
  labels?: Labels;
  annotations?: Labels;
  finalizers?: string[];
}

/** The manifests that a revision renders, redacted. */
export interface ManifestsAnswer {
  revision: string;
  manifests: JsonObject[];
}

export interface NewAgent {
  name: string;
  environment?: string;
  region?: string;
  labels?: Labels;
  organisation?: string;
  project?: string;
}

export interface NewAppProject {
  agent: string;
  manifest: ProjectManifest;
}

export interface NewApplication {
  agent: string;
  manifest: ApplicationManifest;
}

/** Neither organisation nor project: the whole account. */
export interface NewBinding {
  principal: string;
  role: string;
  organisation?: string | null;
  project?: string | null;
  resourceGroup?: string | null;
}

/** `spec` holds the fields that Argo CD has for this kind, without credentials. */
export interface NewConnection {
  agent: string;
  name?: string;
  url?: string;
  type?: string;
  project?: string;
  text?: string;
  spec?: JsonObject;
  secretRef?: ConnectionSecretRef | null;
  sealed?: string | null;
}

export interface NewOrganisation {
  name: string;
  displayName?: string;
}

export interface NewPrincipal {
  kind?: PrincipalKind;
  name: string;
  displayName?: string;
  password?: string | null;
}

export interface NewProject {
  organisation: string;
  name: string;
  displayName?: string;
  appProjects?: string[];
}

export interface NewResourceGroup {
  name: string;
  labels: Labels;
}

export interface NewRole {
  name: string;
  permissions: Permission[];
  actions?: string[];
}

export interface NewSavedFilter {
  name: string;
  query: string;
  shared?: boolean;
}

export interface NewToken {
  name: string;
  permissions?: Permission[];
  days?: number;
}

/** `types`: as of GET /events, `drift` or `drift.began`; empty: all. It begins now. */
export interface NewWebhook {
  name: string;
  url: string;
  types?: string[];
  project?: string;
  enabled?: boolean;
}

/** An object that differs; `desired` or `live` is null where only the other exists. */
export interface ObjectDiff {
  key: string;
  modified: boolean;
  desired: JsonObject | null;
  live: JsonObject | null;
  changes: FieldChange[];
}

export interface ObjectPreview {
  changes: ChangedField[];
  creates: JsonObject[];
  deletes: string[];
  drift: string[];
  notes: string[];
}

/**
 * Objects of the application; `*` is any group, kind, namespace or name.
 *
 * Without a namespace those of every namespace. A `!` before the kind excludes them: every other
 * object is meant, or every other one that the list names.
 */
export interface ObjectSelector {
  group?: string;
  kind: string;
  namespace?: string;
  name: string;
}

export interface OfferedAction {
  name: string;
  title: string;
  params: string[];
  disabled: boolean;
  why: string;
  permitted: boolean;
}

export type OperationKind = "" | "auto-sync" | "rollback" | "self-heal" | "sync";

export interface Organisation {
  id: string;
  name: string;
  displayName: string;
  version: number;
  createdAt: string;
}

export interface OrganisationChange {
  displayName?: string;
  version?: number | null;
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

export interface PasswordChange {
  password: string;
  newPassword: string;
  endTokens?: boolean;
}

export type Permission =
  | "access_edit"
  | "access_view"
  | "audit_view"
  | "gitops_agent_delete"
  | "gitops_agent_edit"
  | "gitops_agent_view"
  | "gitops_application_action"
  | "gitops_application_delete"
  | "gitops_application_edit"
  | "gitops_application_exec"
  | "gitops_application_override"
  | "gitops_application_override_window"
  | "gitops_application_sync"
  | "gitops_application_view"
  | "gitops_cert_delete"
  | "gitops_cert_edit"
  | "gitops_cert_view"
  | "gitops_cluster_delete"
  | "gitops_cluster_edit"
  | "gitops_cluster_view"
  | "gitops_gpgkey_delete"
  | "gitops_gpgkey_edit"
  | "gitops_gpgkey_view"
  | "gitops_object_delete"
  | "gitops_object_edit"
  | "gitops_repository_delete"
  | "gitops_repository_edit"
  | "gitops_repository_view"
  | "settings_edit";

/** `account` is always there; the others where the permission reaches no further. */
export interface PermissionScope {
  account: string;
  organisation: string | null;
  project: string | null;
  labels: Labels | null;
}

export interface Principal {
  id: string;
  name: string;
  displayName: string;
  kind: string;
}

export interface PrincipalChange {
  displayName?: string;
  password?: string;
  disabled?: boolean;
  version?: number | null;
}

export interface PrincipalDetail {
  id: string;
  kind: PrincipalKind;
  name: string;
  displayName: string;
  disabled: boolean;
  version: number;
  createdAt: string;
}

export type PrincipalKind = "service" | "user";

export interface ProblemDetails {
  type: string;
  title: string;
  status: number;
  detail?: string;
  field?: string;
  rule?: string;
  remedy?: string;
  version?: string;
}

export interface Project {
  id: string;
  organisation: string;
  name: string;
  displayName: string;
  appProjects: string[];
  version: number;
  createdAt: string;
}

export interface ProjectChange {
  displayName?: string;
  appProjects?: string[];
  version?: number | null;
}

/** An Argo CD AppProject. */
export interface ProjectManifest {
  apiVersion?: string;
  kind?: string;
  metadata: ManifestMetadata;
  spec: JsonObject;
}

export interface PushHop {
  name: string;
  time: string;
  ms: number;
}

export type PushOutcome = "failed" | "held" | "running" | "superseded" | "synced";

/** Everything that one push caused here, by its correlation; `message`: why it ended so. */
export interface PushTrace {
  correlation: string;
  began: string;
  commit: CommitInfo;
  hops: PushHop[];
  totalMs: number;
  ended: string | null;
  outcome: PushOutcome;
  message: string;
}

/** A new life of the agent's outbox that is not believed yet. */
export interface QuarantinedEpoch {
  epoch: string;
  reason: string;
  since: string;
}

export interface RefreshRequest {
  hard?: boolean;
}

/** The agent that reports an object. */
export interface ReportingAgent {
  id: string;
  name: string;
}

export interface ResourceActions {
  actions: OfferedAction[];
  problem: string;
}

export interface ResourceGroup {
  id: string;
  name: string;
  labels: Labels;
  version: number;
  createdAt: string;
}

export interface ResourceGroupChange {
  labels: Labels;
  version?: number | null;
}

export interface Role {
  id: string;
  name: string;
  permissions: string[];
  actions: string[];
  builtIn: boolean;
  version: number;
  createdAt: string;
}

export interface RoleBinding {
  id: string;
  principal: string;
  role: string;
  organisation: string | null;
  project: string | null;
  resourceGroup: string | null;
  createdAt: string;
}

export interface RoleChange {
  permissions: Permission[];
  actions?: string[] | null;
  version?: number | null;
}

export interface RollbackRequest {
  historyId: number;
  prune?: boolean;
}

/**
 * The deployment that runs; `rolledBack` while it is an earlier one than Git wants.
 *
 * `commit` is the running revision's own. `by` is a name, or `automated`.
 */
export interface RunningDeployment {
  revision: string;
  commit: CommitInfo;
  since: string | null;
  by: string;
  rolledBack: boolean;
}

export interface SavedFilter {
  id: string;
  name: string;
  query: string;
  shared: boolean;
  own: boolean;
}

/** X25519, raw, base64: what is sealed to it, only this agent can open. */
export interface SealingKey {
  publicKey: string;
}

export interface ServiceApplication {
  id: string;
  name: string;
  region: string;
  revision: string;
}

/** Two of one service are a rollout under way, or two applications. */
export interface ServiceImage {
  image: string;
  instances: number;
  ready: number;
}

/** `leftOut`: instances beyond what an agent tells; `of`: the first of its applications. */
export interface ServiceSummary {
  applications: number;
  instances: number;
  ready: number;
  healthy: number;
  outOfSync: number;
  name: string;
  environment: string;
  regions: string[];
  images: ServiceImage[];
  revisions: string[];
  of: ServiceApplication[];
  leftOut: number;
}

/** Whether syncs may begin now; `until` is the next change, empty for none that is known. */
export interface SyncOpenNow {
  open: boolean;
  why: string;
  until: string;
}

/** A stretch of time, and whether automated syncs and syncs by hand may begin in it. */
export interface SyncOpenState {
  begin: string;
  end: string;
  automated: boolean;
  byHand: boolean;
}

/** Objects as `group/kind/namespace/name`. */
export interface SyncPreview {
  revision: string;
  create: string[];
  change: string[];
  prune: string[];
  skip: UntouchedObject[];
  refuse: UntouchedObject[];
}

/** `revision`: instead of the target revision; `options`: as in the spec. */
export interface SyncRequest {
  revision?: string;
  revisions?: string[];
  prune?: boolean;
  dryRun?: boolean;
  resources?: ObjectSelector[];
  options?: string[];
  overrideWindow?: boolean;
  reason?: string;
}

export type SyncStatus = "OutOfSync" | "Synced" | "Unknown";

/** The windows from `begin` to `end`; `now` is the agent's clock. */
export interface SyncWindowCalendar {
  project: string;
  now: string;
  begin: string;
  end: string;
  states: SyncOpenState[];
  windows: SyncWindowLane[];
  unreadable: string[];
  automated: SyncOpenNow | null;
  byHand: SyncOpenNow | null;
  overrideProblem: string;
}

/** One window as the AppProject has it, and when it is active; `seconds` is its duration. */
export interface SyncWindowLane {
  kind: "allow" | "deny";
  schedule: string;
  seconds: number;
  timeZone: string;
  description: string;
  manualSync: boolean;
  syncOverrun: boolean;
  applications: string[];
  namespaces: string[];
  clusters: string[];
  andOperator: boolean;
  periods: WindowPeriod[];
}

export type TaskKind =
  | "actions"
  | "confirm-deletion"
  | "delete"
  | "delete-object"
  | "diff"
  | "edit-object"
  | "event-stream"
  | "events"
  | "exec"
  | "links"
  | "live"
  | "logs"
  | "manifests"
  | "object-preview"
  | "put"
  | "refresh"
  | "refs"
  | "rollback"
  | "run-action"
  | "sync"
  | "sync-windows"
  | "terminate"
  | "tree";

export type TaskPhase =
  | "cancelled"
  | "expired"
  | "failed"
  | "offered"
  | "queued"
  | "running"
  | "succeeded"
  | "unknown";

/** It will be done, or refused by the agent: the task says which. */
export interface TaskReceipt {
  task: TaskSummary;
}

export interface TaskReceipts {
  tasks: TaskSummary[];
}

export interface TaskSummary {
  id: string;
  kind: TaskKind;
  subject: string;
  agent: string;
  project: string;
  actor: string;
  phase: TaskPhase;
  code: string;
  message: string;
  progress: JsonObject;
  result: Json;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
}

/**
 * `type` as in docs/events.md; `agent` is its id; `event_id` the fact's own, as on the bus.
 *
 * `time` is by the service's clock; `agent_time` what the agent told, where the clocks are apart.
 */
export interface TimelineFact {
  id: string;
  eventId: string;
  agent: string;
  agentName: string;
  type: string;
  subject: string;
  project: string;
  environment: string;
  region: string;
  correlation: string;
  time: string;
  agentTime: string | null;
  sentence: string;
  body: JsonObject;
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

export interface TreeAnswer {
  nodes: TreeNode[];
}

/** An object of the application; `parents` own it. */
export interface TreeNode {
  uid?: string;
  group: string;
  version: string;
  kind: string;
  namespace: string;
  name: string;
  health: "" | "Degraded" | "Healthy" | "Missing" | "Progressing" | "Suspended" | "Unknown";
  healthMessage: string;
  sync: "" | "OutOfSync" | "Synced" | "Unknown";
  parents: string[];
  images: string[];
  createdAt: string | null;
  info: string[];
  orphaned?: boolean;
}

export interface UntouchedObject {
  key: string;
  note: string;
}

/** `answer`: the last status, or why there was none; `body`: what the receiver was sent. */
export interface WebhookAttempt {
  id: string;
  state: WebhookAttemptState;
  type: string;
  attempts: number;
  answer: string;
  nextAt: string | null;
  createdAt: string;
  body: JsonObject;
}

export type WebhookAttemptState = "dead" | "delivered" | "waiting";

export interface WebhookChange {
  name?: string;
  url?: string;
  types?: string[];
  project?: string;
  enabled?: boolean;
  version?: number | null;
}

/** `cursor`: the id of the last event that was looked at for it. */
export interface WebhookSubscription {
  id: string;
  name: string;
  url: string;
  types: string[];
  project: string;
  enabled: boolean;
  cursor: string;
  version: number;
  createdAt: string;
}

export interface WindowPeriod {
  begin: string;
  end: string;
}
