/* Every call of the dashboard, by noun. Reads that an agent answers come back as their body. */
import { request, send, type Query } from "./client";
import { answer } from "./tasks";
import type * as t from "./types";

const enc = encodeURIComponent;
const post = <T>(path: string, body: unknown = {}) => request<T>(path, { method: "POST", body });
const remove = (path: string, query: Query = {}) => request<unknown>(path, { method: "DELETE", query });
/** The longest page that the service gives. */
const MOST = 500;
const list = <T>(path: string, query: Query = {}) => request<t.Page<T>>(path, { query });

export const session = {
  login: (name: string, password: string) =>
    post<Pick<t.Me, "principal" | "csrf">>("/login", { name, password }),
  logout: () => post<unknown>("/logout"),
  me: () => request<t.Me>("/me"),
  changePassword: (password: string, newPassword: string, endTokens: boolean) =>
    post<unknown>("/me/password", { password, newPassword, endTokens }),
  sessions: () => list<t.OwnSession>("/me/sessions", { limit: MOST }),
  endSession: (id: string) => remove(`/me/sessions/${enc(id)}`),
  endOtherSessions: () => remove("/me/sessions"),
};

export const applications = {
  page: (query: Query) => list<t.Application>("/applications", query),
  one: (id: string) => request<t.ApplicationDetail>(`/applications/${enc(id)}`),
  create: (agent: string, manifest: t.JsonObject) =>
    post<{ task: t.Task }>("/applications", { agent, manifest }),
  replace: (id: string, version: string, manifest: t.JsonObject) =>
    request<{ task: t.Task }>(`/applications/${enc(id)}`, {
      method: "PUT",
      body: { manifest },
      headers: { "If-Match": `"${version}"` },
    }),
  remove: (id: string, cascade: boolean) => remove(`/applications/${enc(id)}`, { cascade }),
  tree: (id: string) => answer<{ nodes: t.TreeNode[] }>(`/applications/${enc(id)}/tree`),
  diff: (id: string) => answer<{ objects: t.ObjectDiff[] }>(`/applications/${enc(id)}/diff`),
  live: (id: string, query: Query) => answer<t.JsonObject>(`/applications/${enc(id)}/live`, query),
  events: (id: string, query: Query) =>
    answer<{ items: t.KubernetesEvent[] }>(`/applications/${enc(id)}/events`, query),
  timeline: (id: string, cursor = "") =>
    list<t.Fact>(`/applications/${enc(id)}/timeline`, { limit: 200, cursor }),
  history: (id: string) => list<t.HistoryEntry>(`/applications/${enc(id)}/history`),
  pushes: (id: string) => list<t.Push>(`/applications/${enc(id)}/pushes`),
  sync: (id: string, ask: t.SyncRequest) => post<{ task: t.Task }>(`/applications/${enc(id)}/sync`, ask),
  preview: (id: string, ask: t.SyncRequest) =>
    post<t.SyncPreview>(`/applications/${enc(id)}/sync/preview`, ask),
  refresh: (id: string, hard: boolean) =>
    post<{ task: t.Task }>(`/applications/${enc(id)}/refresh`, { hard }),
  terminate: (id: string) => post<{ task: t.Task }>(`/applications/${enc(id)}/terminate`),
  rollback: (id: string, historyId: number, prune: boolean) =>
    post<{ task: t.Task }>(`/applications/${enc(id)}/rollback`, { historyId, prune }),
  bulk: (verb: "sync" | "refresh", ids: string[]) =>
    post<{ tasks: t.Task[] }>(`/applications/bulk/${verb}`, { ids }),
};

export const fleet = {
  now: () => request<t.Fleet>("/fleet"),
  timeline: (query: Query) => list<t.Fact>("/timeline", query),
  at: (time: string) => request<t.FleetThen>("/timeline/at", { query: { time } }),
  drifts: (query: Query) => list<t.Drift>("/drifts", query),
};

export const places = {
  services: (query: Query = {}) => list<t.ServiceCell>("/services", { limit: MOST, ...query }),
  instances: (query: Query) => list<t.Instance>("/instances", query),
};

export const filters = {
  list: () => list<t.SavedFilter>("/filters", { limit: MOST }),
  save: (body: { name: string; query: string; shared: boolean }) => post<t.SavedFilter>("/filters", body),
  remove: (id: string) => remove(`/filters/${enc(id)}`),
};

export const agents = {
  list: () => list<t.Agent>("/agents", { limit: MOST }),
  create: (body: { name: string; environment: string; region: string; labels: t.Labels }) =>
    post<t.Agent>("/agents", body),
  token: (id: string) => post<{ token: string; expiresAt: string }>(`/agents/${enc(id)}/enrolment-token`),
  manifest: async (id: string, query: Query) =>
    (await send(`/agents/${enc(id)}/manifest`, { query, headers: { Accept: "*/*" } })).text(),
  revoke: (id: string) => post<unknown>(`/agents/${enc(id)}/revoke`),
  epoch: (id: string, epoch: string, verdict: "accept" | "reject") =>
    post<unknown>(`/agents/${enc(id)}/epochs/${enc(epoch)}/${verdict}`),
  rebuild: (id: string) => post<t.Agent>(`/agents/${enc(id)}/rebuild`),
  acceptDeletions: (id: string) => post<t.Agent>(`/agents/${enc(id)}/deletions/accept`),
  sealingKey: (id: string) => request<{ publicKey: string }>(`/agents/${enc(id)}/sealing-key`),
};

export type ConnectionNoun = "repositories" | "repository-credentials" | "clusters" | "certificates" | "keys";

export const connections = {
  list: (noun: ConnectionNoun) => list<t.Connection>(`/${noun}`, { limit: MOST }),
  add: (noun: ConnectionNoun, body: t.JsonObject) => post<{ task: t.Task }>(`/${noun}`, body),
  remove: (noun: ConnectionNoun, id: string) => remove(`/${noun}/${enc(id)}`),
};

export const appProjects = {
  page: (query: Query) => list<t.AppProject>("/appprojects", query),
  one: (id: string) => request<t.AppProjectDetail>(`/appprojects/${enc(id)}`),
  create: (agent: string, manifest: t.JsonObject) =>
    post<{ task: t.Task }>("/appprojects", { agent, manifest }),
  replace: (id: string, version: string, manifest: t.JsonObject) =>
    request<{ task: t.Task }>(`/appprojects/${enc(id)}`, {
      method: "PUT",
      body: { manifest },
      headers: { "If-Match": `"${version}"` },
    }),
  remove: (id: string) => request<{ task: t.Task }>(`/appprojects/${enc(id)}`, { method: "DELETE" }),
};

export const audit = {
  page: (query: Query) => list<t.AuditEntry>("/audit", query),
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
  principals: () => list<t.Principal>("/principals", { limit: MOST }),
  roles: () => list<t.Role>("/roles", { limit: MOST }),
  groups: () => list<t.ResourceGroup>("/resource-groups", { limit: MOST }),
  bindings: () => list<t.Binding>("/bindings", { limit: MOST }),
  changeGroup: ({ id, version }: t.ResourceGroup, labels: t.Labels) =>
    request<t.ResourceGroup>(`/resource-groups/${enc(id)}`, { method: "PATCH", body: { labels, version } }),
  setPassword: ({ id, version }: t.Principal, password: string) =>
    request<t.Principal>(`/principals/${enc(id)}`, { method: "PATCH", body: { password, version } }),
  tokens: (principal: string) => list<t.Token>(`/principals/${enc(principal)}/tokens`),
  create: (noun: AccessNoun, body: t.JsonObject) => post<unknown>(`/${noun}`, body),
  remove: (noun: AccessNoun, id: string) => remove(`/${noun}/${enc(id)}`),
  issueToken: (principal: string, body: t.JsonObject) =>
    post<{ token: string }>(`/principals/${enc(principal)}/tokens`, body),
  revokeToken: (principal: string, id: string) => remove(`/principals/${enc(principal)}/tokens/${enc(id)}`),
};

export const webhooks = {
  list: () => list<t.Webhook>("/webhooks"),
  create: (body: t.JsonObject) => post<t.Webhook & { secret: string }>("/webhooks", body),
  remove: (id: string) => remove(`/webhooks/${enc(id)}`),
  dead: (id: string) => list<t.Delivery>(`/webhooks/${enc(id)}/deliveries`, { state: "dead" }),
  retry: (id: string, delivery: string) =>
    post<t.Delivery>(`/webhooks/${enc(id)}/deliveries/${enc(delivery)}/retry`),
};

export const tasks = {
  one: (id: string) => request<t.Task>(`/tasks/${enc(id)}`),
};
