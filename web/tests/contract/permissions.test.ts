import { expect, it } from "vitest";
import { PERMISSIONS } from "@/model/permissions";
import { readDocument } from "./service";

const known = readDocument().components.schemas["Permission"]?.enum ?? [];

it("offers every permission that the service has", () => expect(PERMISSIONS).toEqual([...known].sort()));
