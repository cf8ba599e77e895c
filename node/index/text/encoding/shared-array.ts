// Arrays that several threads read without a copy. Whoever writes to one does so before another thread
// hears of it, and never again: so nobody needs `Atomics`.

export function sharedBytes(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length))
}

export function sharedUint32(length: number): Uint32Array {
  return new Uint32Array(new SharedArrayBuffer(length * 4))
}
