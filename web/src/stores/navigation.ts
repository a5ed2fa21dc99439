/* Where the reader wanted to go and could not, because the page's code did not arrive. */
import { defineStore } from "pinia";
import { ref } from "vue";

export const useNavigation = defineStore("navigation", () => {
  const failed = ref("");
  return { failed };
});
