/* Dark, light, or as the system has it. The first paint is done by public/theme.js. */
import { ref, watch } from "vue";

export type Theme = "system" | "light" | "dark";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const theme = ref<Theme>((document.documentElement.dataset["theme"] as Theme | undefined) ?? "system");

watch(theme, (value) => {
  if (value === "system") {
    delete document.documentElement.dataset["theme"];
    localStorage.removeItem("theme");
  } else {
    document.documentElement.dataset["theme"] = value;
    localStorage.setItem("theme", value);
  }
});

export function useTheme() {
  return { theme, turn: () => (theme.value = NEXT[theme.value]) };
}
