// Arrays that several threads read without a copy. The writer fills an array before it posts it to
// another thread, and never changes it afterwards. So no reader needs `Atomics`.

export function sharedBytes(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length))
}

export function sharedUint32(length: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(length * 4))
}
