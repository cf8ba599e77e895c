import { delimiter } from 'node:path'
import type { Env } from '../lib/env.ts'

/** The address of a store with default settings. */
const DEFAULT_URL = 'http://127.0.0.1:8080'

/** The environment's settings for all commands. */
export interface CliSettings {
  readonly url: string
  /** NO_COLOR is set: https://no-color.org */
  readonly noColor: boolean
  /** The descriptor of a pipe that closes when the parent process dies (bin/quarry); undefined: none. */
  readonly parentPipe: number | undefined
}

export function parseCliSettings(env: Env): CliSettings {
  const pipe = env['QUARRY_PARENT_PIPE']
  return {
    url: env['QUARRY_URL'] ?? DEFAULT_URL,
    noColor: (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb',
    parentPipe: pipe === undefined || !/^\d+$/.test(pipe) ? undefined : Number(pipe),
  }
}

const HUB_DEFAULT = 'https://huggingface.co'

/** The environment's settings for `quarry models`. The hub's own tools read the same HF_ variables. */
export interface ModelsSettings {
  readonly modelsDir: string
  readonly endpoint: string
  readonly token: string | undefined
}

export function parseModelsSettings(env: Env): ModelsSettings {
  return {
    modelsDir: env['QUARRY_MODELS_DIR'] ?? 'models',
    endpoint: env['HF_ENDPOINT'] ?? HUB_DEFAULT,
    token: env['HF_TOKEN'],
  }
}

/** The environment's settings for `quarry cluster start`. */
export interface LauncherSettings {
  /** The etcd to run; undefined: the one that PATH has. */
  readonly etcd: string | undefined
  /** Directories in which programs are looked for. */
  readonly path: readonly string[]
}

export function parseLauncherSettings(env: Env): LauncherSettings {
  const path = (env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== '')
  const named = env['QUARRY_ETCD']
  return { etcd: named === '' ? undefined : named, path }
}
