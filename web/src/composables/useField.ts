/* One field of a manifest that is text: read from it, written into it. */
import { computed, type Ref, type WritableComputedRef } from "vue";
import { valueAt, withValue } from "@/model/manifest";

type Path = readonly string[];

/** An emptied field is left out of the manifest. A `former` path is read where the field is absent, and a
    write takes it away. */
export function useField(text: Ref<string>, path: Path, former?: Path): WritableComputedRef<string> {
  return computed({
    get: () => {
      const value = valueAt(text.value, path) ?? (former && valueAt(text.value, former));
      return value === undefined || value === null ? "" : String(value);
    },
    set: (value) => {
      const rest = former ? withValue(text.value, former, undefined) : text.value;
      text.value = withValue(rest, path, value || undefined);
    },
  });
}

/** Something that is there or not; `made` is what is written where it shall be. */
export function useSwitch(text: Ref<string>, path: Path, made: () => unknown): WritableComputedRef<boolean> {
  return computed({
    get: () => {
      const value = valueAt(text.value, path);
      return value !== undefined && value !== null && value !== false;
    },
    set: (on) => (text.value = withValue(text.value, path, on ? made() : undefined)),
  });
}
