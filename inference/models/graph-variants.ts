// The number formats of a model's graphs. A graph's suffix between the stem and `.onnx` shows its
// format. Exporters use different spellings.

/**
 * Variants by the suffix of a graph's file name. The first existing spelling of a variant is used; a
 * request without a variant gets the first existing variant. Unsigned 8-bit weights are a variant of
 * their own, because they are slower on CPUs than signed ones.
 */
export const VARIANT_BY_SUFFIX: ReadonlyMap<string, string> = new Map([
  ['', 'f32'],
  ['_f16', 'f16'],
  ['_fp16', 'f16'],
  ['_bf16', 'bf16'],
  ['_i8', 'i8'],
  ['_int8', 'i8'],
  ['_quantized', 'i8'],
  ['_qint8_avx512_vnni', 'i8'],
  ['_qint8_avx512', 'i8'],
  ['_qint8_arm64', 'i8'],
  ['_i8-st', 'i8-st'],
  ['_uint8', 'u8'],
  ['_quint8_avx2', 'u8'],
  ['_i4', 'i4'],
  ['_q4', 'i4'],
  ['_q4f16', 'q4f16'],
  ['_bnb4', 'bnb4'],
])

/** All variants in the order of preference. */
export const VARIANTS: readonly string[] = [...new Set(VARIANT_BY_SUFFIX.values())]

/** The suffixes of a variant, or of one spelling such as `quantized`; empty for unknown names. */
export function suffixesOf(variant: string): readonly string[] {
  const suffixes = [...VARIANT_BY_SUFFIX].filter(([, name]) => name === variant)
  if (suffixes.length > 0) return suffixes.map(([suffix]) => suffix)
  return VARIANT_BY_SUFFIX.has(`_${variant}`) ? [`_${variant}`] : []
}
