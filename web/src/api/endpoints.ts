/* Every call of the dashboard, by noun. Reads that an agent answers come back as their body. */
import { request, send, type Query } from "./client";
import type { ConnectionNoun } from "@/model/connections";
import { answer } from "./tasks";
import type * as t from "./schema";

const enc = encodeURIComponent;
const post = <T>(path: string, body: unknown = {}) => request<T>(path, { method: "POST", body });
const remove = (path: string, query: Query = {}) => request<unknown>(path, { method: "DELETE", query });
/** The longest page that the service gives. */
const MOST = 500;
const list = <T>(path: string, query: Query = {}) => request<t.Page<T>>(path, { query });

export const session = {
  login: (name: string, password: string) =>
    post<Pick<t.CurrentPrincipal, "principal" | "csrf">>("/login", { name, password }),
  logout: () => post<unknown>("/logout"),
  me: () => request<t.CurrentPrincipal>("/me"),
  changePassword: (password: string, newPassword: string, endTokens: boolean) =>
    post<unknown>("/me/password", { password, newPassword, endTokens }),
  sessions: () => list<t.OwnSession>("/me/sessions", { limit: MOST }),
  endSession: (id: string) => remove(`/me/sessions/${enc(id)}`),
  endOtherSessions: () => remove("/me/sessions"),
};

export const applications = {
  page: (query: Query) => list<t.ApplicationSummary>("/applications", query),
  one: (id: string) => request<t.ApplicationDetail>(`/applications/${enc(id)}`),
  create: (agent: string, manifest: t.JsonObject) =>
    post<{ task: t.TaskSummary }>("/applications", { agent, manifest }),
  replace: (id: string, version: string, manifest: t.JsonObject) =>
    request<{ task: t.TaskSummary }>(`/applications/${enc(id)}`, {
      method: "PUT",
      body: { manifest },
      headers: { "If-Match": `"${version}"` },
    }),
  remove: (id: string, cascade: boolean) => remove(`/applications/${enc(id)}`, { cascade }),
  syncWindows: (id: string) => answer<t.SyncWindowCalendar>(`/applications/${enc(id)}/sync-windows`),
  links: (id: string, query: Query = {}) => answer<t.LinksAnswer>(`/applications/${enc(id)}/links`, query),
  tree: (id: string) => answer<{ nodes: t.TreeNode[] }>(`/applications/${enc(id)}/tree`),
  diff: (id: string) => answer<{ objects: t.ObjectDiff[] }>(`/applications/${enc(id)}/diff`),
  live: (id: string, query: Query) => answer<t.JsonObject>(`/applications/${enc(id)}/live`, query),
  events: (id: string, query: Query) =>
    answer<{ items: t.KubernetesEvent[] }>(`/applications/${enc(id)}/events`, query),
  timeline: (id: string, cursor = "") =>
    list<t.TimelineFact>(`/applications/${enc(id)}/timeline`, { limit: 200, cursor }),
  history: (id: string) => list<t.DeploymentEntry>(`/applications/${enc(id)}/history`),
  pushes: (id: string) => list<t.PushTrace>(`/applications/${enc(id)}/pushes`),
  sync: (id: string, ask: t.SyncRequest) =>
    post<{ task: t.TaskSummary }>(`/applications/${enc(id)}/sync`, ask),
  preview: (id: string, ask: t.SyncRequest) =>
    post<t.SyncPreview>(`/applications/${enc(id)}/sync/preview`, ask),
  previewRollback: (id: string, historyId: number, prune: boolean) =>
    post<t.SyncPreview>(`/applications/${enc(id)}/rollback/preview`, { historyId, prune }),
  refresh: (id: string, hard: boolean) =>
    post<{ task: t.TaskSummary }>(`/applications/${enc(id)}/refresh`, { hard }),
  terminate: (id: string) => post<{ task: t.TaskSummary }>(`/applications/${enc(id)}/terminate`),
  confirmDeletion: (id: string) => post<{ task: t.TaskSummary }>(`/applications/${enc(id)}/confirm-deletion`),
  actions: (id: string, query: Query) => answer<t.ResourceActions>(`/applications/${enc(id)}/actions`, query),
  previewAction: (id: string, ask: t.ActionRequest) =>
    post<t.ObjectPreview>(`/applications/${enc(id)}/actions/preview`, ask),
  runAction: (id: string, ask: t.ActionRequest) =>
    post<{ task: t.TaskSummary }>(`/applications/${enc(id)}/actions`, ask),
  previewEdit: (id: string, ask: t.EditRequest) =>
    post<t.ObjectPreview>(`/applications/${enc(id)}/objects/edit/preview`, ask),
  editObject: (id: string, ask: t.EditRequest) =>
    post<{ task: t.TaskSummary }>(`/applications/${enc(id)}/objects/edit`, ask),
  previewObjectDeletion: (id: string, ask: t.DeletionRequest) =>
    post<t.ObjectPreview>(`/applications/${enc(id)}/objects/delete/preview`, ask),
  deleteObject: (id: string, ask: t.DeletionRequest) =>
    post<{ task: t.TaskSummary }>(`/applications/${enc(id)}/objects/delete`, ask),
  rollback: (id: string, historyId: number, prune: boolean) =>
    post<{ task: t.TaskSummary }>(`/applications/${enc(id)}/rollback`, { historyId, prune }),
  bulk: (verb: "sync" | "refresh", ids: string[]) =>
    post<{ tasks: t.TaskSummary[] }>(`/applications/bulk/${verb}`, { ids }),
};

export const fleet = {
  now: () => request<t.Fleet>("/fleet"),
  timeline: (query: Query) => list<t.TimelineFact>("/timeline", query),
  at: (time: string) => request<t.FleetAtTime>("/timeline/at", { query: { time } }),
  drifts: (query: Query) => list<t.DriftEntry>("/drifts", query),
};

export const places = {
  services: (query: Query = {}) => list<t.ServiceSummary>("/services", { limit: MOST, ...query }),
  instances: (query: Query) => list<t.Instance>("/instances", query),
};

export const filters = {
  list: () => list<t.SavedFilter>("/filters", { limit: MOST }),
  save: (body: { name: string; query: string; shared: boolean }) => post<t.SavedFilter>("/filters", body),
  remove: (id: string) => remove(`/filters/${enc(id)}`),
};

export const agents = {
  list: () => list<t.AgentSummary>("/agents", { limit: MOST }),
  create: (body: { name: string; environment: string; region: string; labels: t.Labels }) =>
    post<t.AgentSummary>("/agents", body),
  token: (id: string) => post<{ token: string; expiresAt: string }>(`/agents/${enc(id)}/enrolment-token`),
  manifest: async (id: string, query: Query) =>
    (await send(`/agents/${enc(id)}/manifest`, { query, headers: { Accept: "*/*" } })).text(),
  revoke: (id: string) => post<unknown>(`/agents/${enc(id)}/revoke`),
  epoch: (id: string, epoch: string, verdict: "accept" | "reject") =>
    post<unknown>(`/agents/${enc(id)}/epochs/${enc(epoch)}/${verdict}`),
  rebuild: (id: string) => post<t.AgentSummary>(`/agents/${enc(id)}/rebuild`),
  acceptDeletions: (id: string) => post<t.AgentSummary>(`/agents/${enc(id)}/deletions/accept`),
  sealingKey: (id: string) => request<{ publicKey: string }>(`/agents/${enc(id)}/sealing-key`),
};

export const connections = {
  list: (noun: ConnectionNoun) => list<t.ConnectionSummary>(`/${noun}`, { limit: MOST }),
  add: (noun: ConnectionNoun, body: t.JsonObject) => post<{ task: t.TaskSummary }>(`/${noun}`, body),
  remove: (noun: ConnectionNoun, row: t.ConnectionSummary) =>
    request<{ task: t.TaskSummary }>(`/${noun}/${enc(row.id)}`, {
      method: "DELETE",
      headers: row.version ? { "If-Match": `"${row.version}"` } : {},
    }),
};

export const appProjects = {
  page: (query: Query) => list<t.AppProjectSummary>("/appprojects", query),
  one: (id: string) => request<t.AppProjectDetail>(`/appprojects/${enc(id)}`),
  links: (id: string) => answer<t.LinksAnswer>(`/appprojects/${enc(id)}/links`),
  syncWindows: (id: string) => answer<t.SyncWindowCalendar>(`/appprojects/${enc(id)}/sync-windows`),
  create: (agent: string, manifest: t.JsonObject) =>
    post<{ task: t.TaskSummary }>("/appprojects", { agent, manifest }),
  replace: (id: string, version: string, manifest: t.JsonObject) =>
    request<{ task: t.TaskSummary }>(`/appprojects/${enc(id)}`, {
      method: "PUT",
      body: { manifest },
      headers: { "If-Match": `"${version}"` },
    }),
  remove: (id: string) => request<{ task: t.TaskSummary }>(`/appprojects/${enc(id)}`, { method: "DELETE" }),
};

export const audit = {
  page: (query: Query) => list<t.AuditRecord>("/audit", query),
  verify: () =>
    request<{
      ok: boolean;
      entries: number;
      anchors: number;
      trimmed?: number;
      brokenAt: number | null;
      reason: string;
    }>("/audit/verify"),
};

export type AccessNoun =
  "organisations" | "projects" | "principals" | "roles" | "resource-groups" | "bindings";

export const access = {
  organisations: () => list<t.Organisation>("/organisations", { limit: MOST }),
  projects: () => list<t.Project>("/projects", { limit: MOST }),
  principals: () => list<t.PrincipalDetail>("/principals", { limit: MOST }),
  roles: () => list<t.Role>("/roles", { limit: MOST }),
  groups: () => list<t.ResourceGroup>("/resource-groups", { limit: MOST }),
  bindings: () => list<t.RoleBinding>("/bindings", { limit: MOST }),
  changeGroup: ({ id, version }: t.ResourceGroup, labels: t.Labels) =>
    request<t.ResourceGroup>(`/resource-groups/${enc(id)}`, { method: "PATCH", body: { labels, version } }),
  setPassword: ({ id, version }: t.PrincipalDetail, password: string) =>
    request<t.PrincipalDetail>(`/principals/${enc(id)}`, { method: "PATCH", body: { password, version } }),
  tokens: (principal: string) => list<t.Token>(`/principals/${enc(principal)}/tokens`),
  changeRole: ({ id, version }: t.Role, permissions: string[], actions: string[]) =>
    request<t.Role>(`/roles/${enc(id)}`, { method: "PATCH", body: { permissions, actions, version } }),
  create: (noun: AccessNoun, body: t.JsonObject) => post<unknown>(`/${noun}`, body),
  remove: (noun: AccessNoun, id: string) => remove(`/${noun}/${enc(id)}`),
  issueToken: (principal: string, body: t.JsonObject) =>
    post<{ token: string }>(`/principals/${enc(principal)}/tokens`, body),
  revokeToken: (principal: string, id: string) => remove(`/principals/${enc(principal)}/tokens/${enc(id)}`),
};

export const webhooks = {
  list: () => list<t.WebhookSubscription>("/webhooks"),
  create: (body: t.JsonObject) => post<t.WebhookSubscription & { secret: string }>("/webhooks", body),
  remove: (id: string) => remove(`/webhooks/${enc(id)}`),
  dead: (id: string) => list<t.WebhookAttempt>(`/webhooks/${enc(id)}/deliveries`, { state: "dead" }),
  retry: (id: string, delivery: string) =>
    post<t.WebhookAttempt>(`/webhooks/${enc(id)}/deliveries/${enc(delivery)}/retry`),
};

export const tasks = {
  one: (id: string) => request<t.TaskSummary>(`/tasks/${enc(id)}`),
};
