// Reads configuration files in YAML. JSON is a subset of YAML.

import { loadAll, YAMLException } from 'js-yaml'
import { messageOf } from '../errors.ts'
import { fileKey } from '../options.ts'
import type { FileSettings, OptionTable } from '../options.ts'

/** `*name` repeats a value, which a few settings may need. */
const ALIASES_MAX = 100

/** A configuration file that has been read. */
export interface ConfigFile {
  /** The path as the person wrote it. */
  readonly path: string
  readonly text: string
}

/** Reads the settings of the table's options. Every other key is a problem. */
export function parseConfigFile({ path, text }: ConfigFile, table: OptionTable): FileSettings {
  const problems: string[] = []
  const values: Record<string, string> = {}
  const known = Object.keys(table).map(fileKey)
  for (const [key, value] of Object.entries(readMapping(text, problems))) {
    if (!known.includes(key)) {
      problems.push(`${key}: unknown setting; known are ${known.join(', ')}`)
    } else if (typeof value === 'object') {
      problems.push(`${key}: must be a single value`)
    } else {
      values[key] = String(value)
    }
  }
  return { path, values, problems: problems.map((problem) => `${path}: ${problem}`) }
}

function readMapping(text: string, problems: string[]): object {
  const content = parseYaml(text, problems)
  if (content === null || content === undefined) return {}
  if (typeof content === 'object' && !Array.isArray(content)) return content
  problems.push('the file must be a mapping of settings, like "api_port: 8080"')
  return {}
}

function parseYaml(text: string, problems: string[]): unknown {
  try {
    const [content, ...others] = loadAll(text, { maxAliases: ALIASES_MAX })
    if (others.length > 0) problems.push('the file must be one document of YAML, without "---"')
    return content
  } catch (error) {
    problems.push(`the file is not YAML: ${reasonOf(error)}`)
    return undefined
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof YAMLException && error.mark)) return messageOf(error)
  const { line, column } = error.mark
  return `${error.reason} at line ${line + 1}, column ${column + 1}`
}
