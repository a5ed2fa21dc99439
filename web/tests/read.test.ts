/* Something read from the service while its changes come in. */
import { createPinia, setActivePinia } from "pinia";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { effectScope, nextTick, ref, type EffectScope } from "vue";
import { useRead, type Read } from "@/composables/useRead";

let scope: EffectScope;
let answers: ((text: string) => void)[];
const ask = () => new Promise<string>((resolve) => answers.push(resolve));
const settled = () => new Promise((resolve) => setTimeout(resolve));

beforeEach(() => {
  setActivePinia(createPinia());
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
  [scope, answers] = [effectScope(), []];
});
afterEach(() => {
  scope.stop();
  vi.unstubAllGlobals();
});

function read(on?: () => unknown): Read<string> {
  const found = scope.run(() => useRead(ask, on ? { on } : {}));
  if (!found) throw new Error("the scope has ended");
  return found;
}

describe("an answer", () => {
  it("is shown although it was asked again meanwhile", async () => {
    const { value, again } = read();
    void again();
    answers[0]?.("first");
    await settled();
    expect(value.value).toBe("first");
    answers[1]?.("second");
    await settled();
    expect(value.value).toBe("second");
  });

  it("that is older than what is shown is dropped", async () => {
    const { value, again } = read();
    void again();
    answers[1]?.("second");
    await settled();
    answers[0]?.("first");
    await settled();
    expect(value.value).toBe("second");
  });

  it("to another question is dropped", async () => {
    const about = ref("one");
    const { value } = read(() => about.value);
    about.value = "two";
    await nextTick();
    answers[0]?.("of one");
    await settled();
    expect(value.value).toBeNull();
    answers[1]?.("of two");
    await settled();
    expect(value.value).toBe("of two");
  });
});
