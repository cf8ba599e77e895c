export interface Layer {
  readonly mayImport: readonly string[]
  readonly packages?: readonly string[]
  /** Composing files (see isComposer in imports.ts) that this layer may start. */
  readonly mayStart?: readonly string[]
  /** Packages of which only the types may be used, by `import type`. */
  readonly types?: readonly string[]
}
