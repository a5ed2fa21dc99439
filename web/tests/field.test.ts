import { describe, expect, test } from "vitest";
import { ref } from "vue";
import { useField } from "@/composables/useField";

const PRESENT = ["metadata", "labels", "plumbline.dev/service"];
const FORMER = ["metadata", "labels", "gitops.house/service"];

describe("a field with a former name", () => {
  test("is read from the former name where the present one is absent", () => {
    const text = ref("metadata:\n  labels:\n    gitops.house/service: shop\n");
    expect(useField(text, PRESENT, FORMER).value).toBe("shop");
  });

  test("is written under the present name only", () => {
    const text = ref("metadata:\n  name: a\n  labels:\n    gitops.house/service: shop\n");
    useField(text, PRESENT, FORMER).value = "cart";
    expect(text.value).toBe("metadata:\n  name: a\n  labels:\n    plumbline.dev/service: cart\n");
  });

  test("is gone under both names once it is emptied", () => {
    const text = ref("metadata:\n  name: a\n  labels:\n    gitops.house/service: shop\n");
    useField(text, PRESENT, FORMER).value = "";
    expect(text.value).toBe("metadata:\n  name: a\n");
  });
});
