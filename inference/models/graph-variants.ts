// How graphs of one model in different number formats are told apart: by what stands between the
// stem and `.onnx`. Exporters do not agree on the spelling.

/**
 * By the suffix of a graph's file name. The first spelling of a variant that exists is taken, and
 * the first variant where none is asked for. Signed 8-bit weights are faster on CPUs than unsigned
 * ones, so these are a variant of their own.
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

/** In the order of preference. */
export const VARIANTS: readonly string[] = [...new Set(VARIANT_BY_SUFFIX.values())]

/** Of a variant, or of one spelling of it such as `quantized`; none for what is neither. */
export function suffixesOf(variant: string): readonly string[] {
  const suffixes = [...VARIANT_BY_SUFFIX].filter(([, name]) => name === variant)
  if (suffixes.length > 0) return suffixes.map(([suffix]) => suffix)
  return VARIANT_BY_SUFFIX.has(`_${variant}`) ? [`_${variant}`] : []
}
