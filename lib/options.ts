// The options of a program as one table. Flags, environment variables, keys of the configuration file,
// help texts and the tables of the README all come from it.

import { assert } from './assert.ts'
import type { Env } from './env.ts'

/** Options of a command line, by name; undefined where one is not given. */
export type Flags = Readonly<Record<string, string | boolean | undefined>>

/** How the text of an option becomes its value. */
export interface ValueKind<Value> {
  readonly default: Value
  /** What a text has to be, as in `"abc" is not an integer from 0 to 65535`. */
  readonly expected: string
  /** Undefined for a text that is no such value. */
  parse(text: string): Value | undefined
}

export interface Option<Value = unknown> {
  readonly variable: string
  /** The argument of its flag, such as `<port>`, or empty for a switch. Undefined: it has no flag. */
  readonly flag?: string
  readonly value: ValueKind<Value>
  readonly help: string
  /** What the help says of a default that depends on the machine. */
  readonly defaultText?: string
}

/** By name: `apiPort` is the flag `--api-port` and the key `api_port` of the configuration file. */
export type OptionTable = Readonly<Record<string, Option>>

export type ConfigOf<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name]['value'] extends ValueKind<infer Value>
    ? Value
    : never
}

/** What a configuration file says, and what is wrong with it. */
export interface FileSettings {
  readonly path: string
  readonly values: Readonly<Record<string, string>>
  readonly problems: readonly string[]
}

export interface OptionSources {
  readonly env: Env
  readonly flags?: Flags
  readonly file?: FileSettings | undefined
  /** The flags that this command calls otherwise than the table. */
  readonly names?: Readonly<Record<string, string>>
}

/** Lists every problem, so that a person sees all mistakes at once. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'

  constructor(problems: readonly string[]) {
    super(`invalid configuration:\n- ${problems.join('\n- ')}`)
  }
}

/**
 * The value of every option: a flag wins over the environment, which wins over the file. Throws a
 * ConfigurationError whose problems name the source that each value really came from.
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
    if (value === undefined) {
      problems.push(`${given?.place}: "${given?.text}" is not ${option.value.expected}`)
    }
    values[name] = value
  }
  if (problems.length > 0) throw new ConfigurationError(problems)
  assert(isConfigOf(table, values), 'every option has a value')
  return Object.freeze(values)
}

interface GivenText {
  readonly text: string
  /** Where it was given, as the person who did so calls it. */
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

/** The default as a person reads it. */
export function defaultOf({ value, defaultText }: Option): string {
  if (defaultText !== undefined) return defaultText
  const shown = String(value.default)
  return shown === '' ? 'none' : shown
}

export interface IntegerRule {
  readonly default: number
  readonly min: number
  readonly max?: number
  /** 0 is allowed as well, and means something of its own. */
  readonly orZero?: boolean
}

const PORT_MAX = 65_535

export function integer(rule: IntegerRule): ValueKind<number> {
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

/** 0 stands for any free one. */
export function port(fallback: number): ValueKind<number> {
  return integer({ default: fallback, min: 0, max: PORT_MAX })
}

export function text(fallback: string): ValueKind<string> {
  return {
    default: fallback,
    expected: 'a text of at least one character',
    parse: (given) => (given === '' ? undefined : given),
  }
}

/** False unless it is given. */
export function flag(): ValueKind<boolean> {
  return {
    default: false,
    expected: 'one of false, true',
    parse: (given) => (given === 'true' ? true : given === 'false' ? false : undefined),
  }
}

export function choice<const Choice extends string>(
  choices: readonly Choice[],
  fallback: NoInfer<Choice>,
): ValueKind<Choice> {
  return {
    default: fallback,
    expected: `one of ${choices.join(', ')}`,
    parse: (given) => choices.find((one) => one === given),
  }
}

/** Separated by commas; empty parts do not count. */
export function list(): ValueKind<readonly string[]> {
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
