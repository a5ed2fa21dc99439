/*
 * A type of the dashboard beside a schema of the service: every field that the dashboard reads must be one
 * that the service gives, of the same kind, and null on both sides or on neither. The service may give more.
 */
import ts from "typescript";
import type { Document, Schema } from "./service";

const KINDS: [ts.TypeFlags, string][] = [
  [ts.TypeFlags.StringLike, "string"],
  [ts.TypeFlags.NumberLike, "number"],
  [ts.TypeFlags.BooleanLike, "boolean"],
  [ts.TypeFlags.Null, "null"],
];
const OPEN = new Set(["Json", "JsonObject", "Labels"]);
/** Times of columns that are never null: the service writes all times by one function, which may give null. */
const ALWAYS = new Set(["asOf", "at", "began", "beganAt", "createdAt", "deployedAt", "since", "time"]);

export class Comparison {
  readonly faults: string[] = [];
  private readonly checker: ts.TypeChecker;
  private readonly types: Map<string, ts.Type>;

  constructor(
    file: string,
    private readonly document: Document,
  ) {
    const program = ts.createProgram([file], { strict: true, skipLibCheck: true, noEmit: true });
    this.checker = program.getTypeChecker();
    const source = program.getSourceFile(file);
    const symbol = source && this.checker.getSymbolAtLocation(source);
    const exported = symbol ? this.checker.getExportsOfModule(symbol) : [];
    this.types = new Map(exported.map((one) => [one.name, this.checker.getDeclaredTypeOfSymbol(one)]));
  }

  compare(type: string, schema: string): void {
    const [ours, theirs] = [this.types.get(type), this.document.components.schemas[schema]];
    if (!ours) this.faults.push(`the dashboard has no type ${type}`);
    else if (!theirs) this.faults.push(`the service has no schema ${schema}`);
    else this.fields(type, ours, theirs);
  }

  private fields(where: string, type: ts.Type, schema: Schema): void {
    for (const property of this.checker.getPropertiesOfType(type)) {
      const theirs = schema.properties?.[property.name];
      const at = `${where}.${property.name}`;
      if (theirs) this.value(at, this.checker.getTypeOfSymbol(property), theirs);
      else if (!this.maybe(property)) this.faults.push(`${at}: the service does not give it`);
    }
  }

  private value(where: string, type: ts.Type, given: Schema): void {
    const schema = this.resolved(given);
    if (isOpen(schema) || OPEN.has(type.aliasSymbol?.name ?? "")) return;
    const [ours, theirs] = [this.kindsOf(type), this.kindsIn(schema)];
    const always = ours === "string" && ALWAYS.has(where.split(".").at(-1) ?? "");
    if (ours !== theirs && !(always && theirs === "null or string"))
      this.faults.push(`${where}: ${ours} here, ${theirs} there`);
    else this.inside(where, type, schema);
  }

  /** Into the items of a list and the fields of an object, where the service says what they are. */
  private inside(where: string, type: ts.Type, schema: Schema): void {
    const [item] = this.checker.isArrayType(type)
      ? this.checker.getTypeArguments(type as ts.TypeReference)
      : [];
    if (item && schema.items) return this.value(`${where}[]`, item, schema.items);
    const object = [schema, ...(schema.anyOf ?? [])].map((one) => this.resolved(one));
    const described = object.find((one) => one.properties);
    if (described) this.fields(where, this.checker.getNonNullableType(type), described);
  }

  private kindsOf(type: ts.Type): string {
    const parts = (type.isUnion() ? type.types : [type]).filter(
      (one) => !(one.flags & ts.TypeFlags.Undefined),
    );
    return sorted(parts.map((one) => this.kindOf(one)));
  }

  private kindOf(type: ts.Type): string {
    const known = KINDS.find(([flag]) => type.flags & flag)?.[1];
    return known ?? (this.checker.isArrayType(type) ? "array" : "object");
  }

  private kindsIn(schema: Schema): string {
    const parts = (schema.anyOf ?? [schema]).map((one) => this.resolved(one));
    return sorted(parts.map((one) => (one.enum ? "string" : (one.type ?? "object"))));
  }

  private resolved(schema: Schema): Schema {
    const name = schema.$ref?.split("/").at(-1);
    return name ? (this.document.components.schemas[name] ?? {}) : schema;
  }

  private maybe(property: ts.Symbol): boolean {
    return Boolean(property.flags & ts.SymbolFlags.Optional);
  }
}

const isOpen = (schema: Schema) => !schema.type && !schema.anyOf && !schema.enum && !schema.properties;
const sorted = (kinds: string[]) =>
  [...new Set(kinds.map((kind) => (kind === "integer" ? "number" : kind)))].sort().join(" or ");
