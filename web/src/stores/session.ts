/* Who looks, and what they may do. The service decides; this only keeps from offering what it would refuse. */
import { defineStore } from "pinia";
import { computed, ref } from "vue";
import { useCsrf } from "@/api/client";
import { session as api } from "@/api/endpoints";
import type { CurrentPrincipal } from "@/api/schema";

export const useSession = defineStore("session", () => {
  const me = ref<CurrentPrincipal | null>(null);
  const name = computed(() => me.value?.principal.displayName || me.value?.principal.name || "");

  async function restore(): Promise<boolean> {
    if (me.value) return true;
    try {
      take(await api.me());
      return true;
    } catch {
      return false;
    }
  }

  async function login(user: string, password: string): Promise<void> {
    useCsrf((await api.login(user, password)).csrf);
    take(await api.me());
  }

  async function logout(): Promise<void> {
    await api.logout();
    forget();
  }

  function take(answer: CurrentPrincipal): void {
    me.value = answer;
    useCsrf(answer.csrf);
  }

  function forget(): void {
    me.value = null;
    useCsrf("");
  }

  function may(permission: string): boolean {
    return me.value?.permissions.some((own) => own.permission === permission) ?? false;
  }

  return { me, name, restore, login, logout, forget, may };
});
