/* The addresses of the dashboard. Each page is loaded when it is first visited; the login is the only open one. */
import {
  createRouter,
  createWebHistory,
  type RouteLocationNormalized,
  type RouteRecordRaw,
} from "vue-router";
import { useNavigation } from "./stores/navigation";
import { useSession } from "./stores/session";

declare module "vue-router" {
  interface RouteMeta {
    title?: string;
    open?: boolean;
  }
}

const routes: RouteRecordRaw[] = [
  {
    path: "/login",
    name: "login",
    component: () => import("./pages/LoginPage.vue"),
    meta: { title: "Sign in", open: true },
  },
  { path: "/", name: "fleet", component: () => import("./pages/FleetPage.vue"), meta: { title: "Fleet" } },
  {
    path: "/applications",
    name: "applications",
    component: () => import("./pages/ApplicationsPage.vue"),
    meta: { title: "Applications" },
  },
  {
    path: "/applications/new",
    name: "new-application",
    component: () => import("./pages/NewApplicationPage.vue"),
    meta: { title: "New application" },
  },
  {
    path: "/applications/:id/edit",
    name: "edit-application",
    component: () => import("./pages/EditApplicationPage.vue"),
    props: true,
    meta: { title: "Edit application" },
  },
  {
    path: "/applications/:id/:tab?",
    name: "application",
    component: () => import("./pages/ApplicationPage.vue"),
    props: true,
    meta: { title: "Application" },
  },
  {
    path: "/services",
    name: "services",
    component: () => import("./pages/ServicesPage.vue"),
    meta: { title: "Services" },
  },
  {
    path: "/timeline",
    name: "timeline",
    component: () => import("./pages/TimelinePage.vue"),
    meta: { title: "Timeline" },
  },
  {
    path: "/drift",
    name: "drift",
    component: () => import("./pages/DriftPage.vue"),
    meta: { title: "Drift" },
  },
  {
    path: "/agents",
    name: "agents",
    component: () => import("./pages/AgentsPage.vue"),
    meta: { title: "Agents" },
  },
  {
    path: "/agents/connect",
    name: "connect",
    component: () => import("./pages/ConnectPage.vue"),
    meta: { title: "Connect an agent" },
  },
  {
    path: "/:noun(repositories|clusters|keys)",
    name: "connections",
    component: () => import("./pages/ConnectionsPage.vue"),
    props: true,
    meta: { title: "Connections" },
  },
  {
    path: "/appprojects",
    name: "appprojects",
    component: () => import("./pages/AppProjectsPage.vue"),
    meta: { title: "AppProjects" },
  },
  {
    path: "/appprojects/:id",
    name: "appproject",
    component: () => import("./pages/AppProjectPage.vue"),
    props: true,
    meta: { title: "AppProject" },
  },
  {
    path: "/audit",
    name: "audit",
    component: () => import("./pages/AuditPage.vue"),
    meta: { title: "Audit" },
  },
  {
    path: "/settings/:section(organisations|projects|members|roles|groups|tokens|webhooks)?",
    name: "settings",
    component: () => import("./pages/SettingsPage.vue"),
    props: true,
    meta: { title: "Settings" },
  },
  {
    path: "/profile",
    name: "profile",
    component: () => import("./pages/ProfilePage.vue"),
    meta: { title: "Profile" },
  },
  {
    path: "/:rest(.*)*",
    name: "missing",
    component: () => import("./pages/MissingPage.vue"),
    meta: { title: "Not found" },
  },
];

export const router = createRouter({
  history: createWebHistory(),
  routes,
  scrollBehavior: (to, from, saved) => saved ?? (to.path === from.path ? undefined : { top: 0 }),
});

router.beforeEach(async (to) => {
  if (to.meta.open) return true;
  fetchParts(to);
  if (await useSession().restore()) return true;
  return { name: "login", query: to.fullPath === "/" ? {} : { to: to.fullPath } };
});

/** The page's own code is on its way while the service says who is looking. */
function fetchParts(to: RouteLocationNormalized): void {
  for (const { components } of to.matched) {
    const page = components?.["default"];
    if (typeof page === "function") void (page as () => Promise<unknown>)();
  }
}

router.onError((_, to) => {
  useNavigation().failed = to.fullPath;
});

router.afterEach((to) => {
  useNavigation().failed = "";
  document.title = `${to.meta.title ?? "Fleet"} · plumbline`;
});
