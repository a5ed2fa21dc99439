import { createPinia } from "pinia";
import { createApp } from "vue";
import App from "./App.vue";
import { whenSignedOut } from "./api/client";
import { router } from "./router";
import { useSession } from "./stores/session";
import "./styles/index.css";

const app = createApp(App).use(createPinia());
const session = useSession();

whenSignedOut(() => {
  session.forget();
  void router.push({ name: "login", query: { to: router.currentRoute.value.fullPath } });
});

app.use(router).mount("#app");
