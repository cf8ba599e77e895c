export type Env = Readonly<Record<string, string | undefined>>

/** Options of a command line, by name; undefined where one is not given. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>

export interface IntegerRule {
  readonly default: number
  readonly min: number
  readonly max: number
}

const PORT_MAX = 65_535

/** Reads typed values and collects every problem, so that an operator sees all mistakes at once. */
export class EnvReader {
  readonly #env: Env
  readonly #places: Readonly<Record<string, string>>
  readonly #problems: string[] = []

  /** `places` says where a variable's value really came from, such as an option of the command line. */
  constructor(env: Env, places: Readonly<Record<string, string>> = {}) {
    this.#env = env
    this.#places = places
  }

  integer(name: string, rule: IntegerRule): number {
    const text = this.#env[name]
    if (text === undefined) return rule.default
    const value = /^-?\d+$/.test(text) ? Number(text) : NaN
    if (value >= rule.min && value <= rule.max) return value
    this.#refuse(name, `"${text}" is not an integer from ${rule.min} to ${rule.max}`)
    return rule.default
  }

  /** 0 stands for any free one. */
  port(name: string, fallback: number): number {
    return this.integer(name, { default: fallback, min: 0, max: PORT_MAX })
  }

  /** `true` or `false`; absent, false. */
  flag(name: string): boolean {
    return this.choice(name, ['false', 'true'], 'false') === 'true'
  }

  text(name: string, fallback: string): string {
    const text = this.#env[name] ?? fallback
    if (text.length === 0) this.#refuse(name, `must not be empty`)
    return text
  }

  /** Undefined where it is absent or empty. */
  optionalText(name: string): string | undefined {
    const text = this.#env[name]
    return text === '' ? undefined : text
  }

  /** Separated by commas; empty parts do not count. */
  list(name: string): readonly string[] {
    const parts = (this.#env[name] ?? '').split(',').map((part) => part.trim())
    return parts.filter((part) => part !== '')
  }

  choice<Choice extends string>(
    name: string,
    choices: readonly Choice[],
    fallback: Choice,
  ): Choice {
    const text = this.#env[name]
    if (text === undefined) return fallback
    const chosen = choices.find((choice) => choice === text)
    if (chosen !== undefined) return chosen
    this.#refuse(name, `"${text}" is not one of ${choices.join(', ')}`)
    return fallback
  }

  #refuse(name: string, problem: string): void {
    const place = Object.hasOwn(this.#places, name) ? this.#places[name] : name
    this.#problems.push(`${place}: ${problem}`)
  }

  check(holds: boolean, problem: string): void {
    if (!holds) this.#problems.push(problem)
  }

  done<Config extends object>(config: Config): Readonly<Config> {
    if (this.#problems.length > 0) {
      throw new Error(`invalid configuration:\n- ${this.#problems.join('\n- ')}`)
    }
    return Object.freeze(config)
  }
}

/** As a flag is called on the command line: `apiPort` is `--api-port`. */
export function optionName(flag: string): string {
  return `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
