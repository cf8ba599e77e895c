// What the kernels use of WebAssembly: its types come with those of browsers otherwise.

declare namespace WebAssembly {
  type Exports = Readonly<Record<string, unknown>>

  /** Compiled code, which several instances may share. */
  interface Module {
    readonly [Symbol.toStringTag]: string
  }
  const Module: new (bytes: Uint8Array) => Module

  class Memory {
    /** In pages of 64 KiB. RangeError if the system has less. */
    constructor(descriptor: { readonly initial: number })
    readonly buffer: ArrayBuffer
  }

  class Instance {
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, Memory>>>>)
    readonly exports: Exports
  }
}
