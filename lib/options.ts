// The options of a program as one table. Flags, environment variables, keys of the configuration
// file, help texts and the tables of docs/reference/configuration.md come from it.

import { assert } from './assert.ts'
import type { Env } from './env.ts'

/** Options of a command line, by name. Undefined means that the option was not given. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>

/** The type of an option: how its text becomes a value. */
export interface OptionType<Value> {
  /** Undefined: the option must be given. */
  readonly default: Value | undefined
  /** Describes valid texts, as in `"abc" is not an integer from 0 to 65535`. */
  readonly expected: string
  /** Undefined if the text is not valid. */
  parse(text: string): Value | undefined
}

/** One option of a program. */
export interface Option<Value = unknown> {
  readonly variable: string
  /**
   * The argument of the flag, such as `<port>`; the empty string for a switch. Undefined means that
   * the option has no flag.
   */
  readonly flag?: string
  readonly value: OptionType<Value>
  readonly help: string
  /** The default in the help, if it depends on the machine. */
  readonly defaultText?: string
}

/**
 * Options by name. `apiPort` has the flag `--api-port` and the key `api_port` in the configuration
 * file.
 */
export type OptionTable = Readonly<Record<string, Option>>

export type ConfigOf<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name]['value'] extends OptionType<infer Value>
    ? Value
    : never
}

/** The settings of a configuration file, and the problems found in it. */
export interface FileSettings {
  readonly path: string
  readonly values: Readonly<Record<string, string>>
  readonly problems: readonly string[]
}

/** The places that values come from. */
export interface OptionSources {
  readonly env: Env
  readonly flags?: Flags
  readonly file?: FileSettings | undefined
  /** The flags whose names in this command differ from the table. */
  readonly names?: Readonly<Record<string, string>>
}

/** Lists every problem, so that a person sees all mistakes at once. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`invalid configuration:\n- ${problems.join('\n- ')}`)
    this.problems = problems
  }
}

/**
 * Reads the value of every option. A flag wins over the environment, and the environment over the
 * file. Throws a ConfigurationError that names the source of each wrong value.
 */
export function readOptions<Table extends OptionTable>(
  table: Table,
  sources: OptionSources,
): ConfigOf<Table> {
  const problems = [...(sources.file?.problems ?? [])]
  const values: Record<string, unknown> = {}
  for (const [name, option] of Object.entries(table)) {
    const given = findText(name, option, sources)
    const value = given === undefined ? option.value.default : option.value.parse(given.text)
    if (value === undefined) problems.push(problemOf(name, option, { given, sources }))
    values[name] = value
  }
  if (problems.length > 0) throw new ConfigurationError(problems)
  assert(isConfigOf(table, values), 'every option has a value')
  return Object.freeze(values)
}

function problemOf(
  name: string,
  { variable, value: { expected } }: Option,
  { given, sources }: { readonly given: GivenText | undefined; readonly sources: OptionSources },
): string {
  if (given !== undefined) return `${given.place}: "${given.text}" is not ${expected}`
  const place = sources.names?.[name] ?? flagName(name)
  return `${place} (environment: ${variable}) must be given: ${expected}`
}

interface GivenText {
  readonly text: string
  /** The place of the text, in the words of the person who wrote it. */
  readonly place: string
}

function findText(
  name: string,
  { variable }: Option,
  { env, flags = {}, file, names = {} }: OptionSources,
): GivenText | undefined {
  const onCommandLine = flags[name]
  if (onCommandLine !== undefined) {
    return { text: String(onCommandLine), place: names[name] ?? flagName(name) }
  }
  const inEnvironment = env[variable]
  if (inEnvironment !== undefined) return { text: inEnvironment, place: variable }
  const key = fileKey(name)
  const inFile = file?.values[key]
  return inFile === undefined ? undefined : { text: inFile, place: `${file?.path}: ${key}` }
}

function isConfigOf<Table extends OptionTable>(
  table: Table,
  values: object,
): values is ConfigOf<Table> {
  return Object.keys(table).every((name) => Object.hasOwn(values, name))
}

/** `apiPort` is `--api-port` on the command line. */
export function flagName(name: string): string {
  return `--${parts(name).join('-')}`
}

/** `apiPort` is `api_port` in the configuration file. */
export function fileKey(name: string): string {
  return parts(name).join('_')
}

function parts(name: string): string[] {
  return name.split(/(?=[A-Z])/).map((part) => part.toLowerCase())
}

/** The default as the help shows it. */
export function defaultOf({ value, defaultText }: Option): string {
  if (defaultText !== undefined) return defaultText
  const shown = String(value.default)
  if (value.default === undefined) return 'must be given'
  return shown === '' ? 'none' : shown
}

/** The allowed integers: `min` to `max`, both included. */
export interface IntegerRule {
  readonly default: number
  readonly min: number
  readonly max?: number
  /** 0 is also allowed and has a meaning of its own. */
  readonly orZero?: boolean
}

const PORT_MAX = 65_535

/** An integer in decimal digits, within the rule. */
export function integer(rule: IntegerRule): OptionType<number> {
  const { min, max = Number.MAX_SAFE_INTEGER, orZero = false } = rule
  return {
    default: rule.default,
    expected: `${orZero ? '0 or ' : ''}an integer from ${min} to ${max}`,
    parse: (given) => {
      const value = /^-?\d+$/.test(given) ? Number(given) : NaN
      return (value >= min && value <= max) || (orZero && value === 0) ? value : undefined
    },
  }
}

/** A port number. 0 means any free port. */
export function port(fallback: number): OptionType<number> {
  return integer({ default: fallback, min: 0, max: PORT_MAX })
}

/** Any text with at least one character. */
export function text(fallback: string): OptionType<string> {
  return {
    default: fallback,
    expected: 'a text of at least one character',
    parse: (given) => (given === '' ? undefined : given),
  }
}

/** A switch. The default is false. */
export function flag(): OptionType<boolean> {
  return {
    default: false,
    expected: 'one of false, true',
    parse: (given) => (given === 'true' ? true : given === 'false' ? false : undefined),
  }
}

/** One of the given words. */
export function choice<const Choice extends string>(
  choices: readonly Choice[],
  fallback: NoInfer<Choice>,
): OptionType<Choice> {
  return {
    default: fallback,
    expected: `one of ${choices.join(', ')}`,
    parse: (given) => choices.find((one) => one === given),
  }
}

/** A list with commas. Empty parts are ignored. */
export function list(): OptionType<readonly string[]> {
  return {
    default: [],
    expected: 'a list',
    parse: (given) =>
      given
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
  }
}

/** The same option, but without a default: it must be given. */
export function required<Value>(type: OptionType<Value>): OptionType<Value> {
  return { ...type, default: undefined }
}
