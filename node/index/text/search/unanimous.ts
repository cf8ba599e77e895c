/**
 * The warnings that all shards give. A single shard may lack a field that documents of other shards have.
 */
export function unanimous(
  answers: readonly { readonly warnings: readonly string[] }[],
): readonly string[] {
  const [first, ...others] = answers
  const warnings = first?.warnings ?? []
  return warnings.filter((warning) => others.every((other) => other.warnings.includes(warning)))
}
