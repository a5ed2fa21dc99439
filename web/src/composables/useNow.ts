/* The page's one clock: every age on the page is told by it, once a second while anybody looks. */
import { onScopeDispose, ref, type Ref } from "vue";

const now = ref(Date.now());
let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

export function useNow(): Readonly<Ref<number>> {
  users += 1;
  now.value = Date.now();
  timer ??= setInterval(() => (now.value = Date.now()), 1000);
  onScopeDispose(() => {
    users -= 1;
    if (users > 0) return;
    clearInterval(timer);
    timer = undefined;
  });
  return now;
}
