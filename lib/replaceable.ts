/** A value that may be replaced while others use it. They ask for it when they need it, and hear of a new one. */
export interface Current<Value> {
  readonly value: Value
  /** The listener hears of a new value before its replacement returns, and must not throw. Returns its removal. */
  onReplaced(listener: (value: Value) => void): () => void
}

/** Who has it replaces the value. */
export class Replaceable<Value> implements Current<Value> {
  #value: Value
  readonly #listeners = new Set<(value: Value) => void>()

  constructor(value: Value) {
    this.#value = value
  }

  get value(): Value {
    return this.#value
  }

  replace(value: Value): void {
    this.#value = value
    for (const listener of this.#listeners) listener(value)
  }

  onReplaced(listener: (value: Value) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }
}
