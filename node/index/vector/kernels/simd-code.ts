// The instructions of WebAssembly that the kernels are written with, as bytes. Names and numbers are those of
// the core specification, version 3.0 (binary format, 5.4); `fd` begins the vector instructions.

/** A part of a function's body, or of a module. */
export type Code = readonly number[]

/** One part behind the other. */
export function sequence(...parts: readonly Code[]): Code {
  return parts.flat()
}

/** Unsigned LEB128. */
export function unsigned(value: number): Code {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}

/** One byte of signed LEB128: -64 to 63. */
const small = (value: number): Code => [value & 127]
const vector = (opcode: number): Code => [0xfd, ...unsigned(opcode)]
/** Any alignment, and an offset. */
const at = (offset: number): Code => [0, ...unsigned(offset)]

/** The end of a function. */
export const END: Code = [0x0b]
export const get = (local: number): Code => [0x20, local]
export const set = (local: number): Code => [0x21, local]
export const i32 = (value: number): Code => [0x41, ...small(value)]
export const i32Add: Code = [0x6a]
export const i32Mul: Code = [0x6c]
export const i32LessU: Code = [0x49]
export const i32Load: Code = [0x28, ...at(0)]
export const i32Store: Code = [0x36, ...at(0)]
export const f32ConvertI32S: Code = [0xb2]
export const f32Store = (offset: number): Code => [0x38, ...at(offset)]
export const f32Add: Code = [0x92]

export const v128Load = (offset: number): Code => [...vector(0x00), ...at(offset)]
export const v128Zero: Code = [...vector(0x0c), ...Array.from({ length: 16 }, () => 0)]
export const i16x8ExtendLowI8x16S = vector(0x87)
export const i16x8ExtendHighI8x16S = vector(0x88)
export const i16x8Sub = vector(0x91)
export const i32x4Add = vector(0xae)
export const i32x4DotI16x8S = vector(0xba)
/**
 * Of 16 numbers of each of two vectors, products are added up by four, and to a third vector. All processors agree
 * on the result as long as no number of the second is below 0.
 */
export const i32x4RelaxedDotI8x16I7x16AddS = vector(0x113)
export const i32x4ExtractLane = (lane: number): Code => [...vector(0x1b), lane]
export const f32x4ExtractLane = (lane: number): Code => [...vector(0x1f), lane]
export const f32x4Add = vector(0xe4)
export const f32x4Sub = vector(0xe5)
export const f32x4Mul = vector(0xe6)

/** Runs the body, and again as long as the condition that it leaves is not 0. */
export function loop(...body: readonly Code[]): Code {
  return [0x03, 0x40, ...body.flat(), 0x0d, 0x00, 0x0b]
}

/** Adds a small number to a local. */
export function advance(local: number, by: number): Code {
  return sequence(get(local), i32(by), i32Add, set(local))
}
