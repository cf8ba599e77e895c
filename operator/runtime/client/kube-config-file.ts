// Which API server is meant, and by which credentials: as kubectl finds it out.

import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import type { Env } from '../../../lib/env.ts'
import { messageOf, ServiceError } from '../../../lib/errors.ts'
import { KubeConfig } from './kube-config.ts'

const TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token'
const DEFAULT_NAMESPACE = 'default'
/** A message lists at most ten names of contexts. */
const NAMES_MAX = 10

/** The choice of a person; what is absent is as the files say. */
export interface KubeConfigChoice {
  readonly env: Env
  readonly context?: string | undefined
}

/** A kubeconfig with the context that was chosen. */
export interface ChosenKubeConfig {
  readonly config: KubeConfig
  readonly context: string
  /** The namespace of the context, or `default`. */
  readonly namespace: string
  readonly server: string
}

/**
 * Contract:
 * - The files are those of KUBECONFIG, or `~/.kube/config`; of those that do not exist nothing is said while another one
 *   does. Of a name that several files have, the first one counts, and so does the first current context.
 * - Without a file, a pod has the credentials of its ServiceAccount.
 * - Everything that is wrong is a ServiceError with code INVALID_ARGUMENT that says where it looked, or which contexts
 *   there are.
 */
export function readKubeConfig({ env, context }: KubeConfigChoice): ChosenKubeConfig {
  const config = loaded(env)
  const chosen = context ?? config.getCurrentContext()
  if (chosen === undefined || chosen === '') {
    throw invalid(
      `the kubeconfig has no current context; choose one with --context: ${names(config)}`,
    )
  }
  const found = config.getContextObject(chosen)
  if (found === null) {
    throw invalid(`the kubeconfig has no context ${chosen}; it has: ${names(config)}`)
  }
  config.setCurrentContext(chosen)
  const { server } = config.getCluster(found.cluster) ?? {}
  if (server === undefined) {
    throw invalid(
      `the context ${chosen} names the cluster ${found.cluster}, which the kubeconfig lacks`,
    )
  }
  const namespace = found.namespace ?? ''
  return {
    config,
    context: chosen,
    namespace: namespace === '' ? DEFAULT_NAMESPACE : namespace,
    server,
  }
}

function loaded(env: Env): KubeConfig {
  const files = filesOf(env)
  const present = files.filter((file) => existsSync(file))
  if (present.length > 0) return merged(present.map((file) => readFile(file)))
  if ((env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' && existsSync(TOKEN_FILE)) {
    const config = new KubeConfig()
    config.loadFromCluster()
    return config
  }
  throw invalid(`there is no kubeconfig: no file ${files.join(', ')}; set KUBECONFIG`)
}

function filesOf(env: Env): readonly string[] {
  const named = (env['KUBECONFIG'] ?? '').split(path.delimiter).filter((file) => file !== '')
  if (named.length > 0) return named
  return [path.join(env['HOME'] ?? homedir(), '.kube', 'config')]
}

function readFile(file: string): KubeConfig {
  const config = new KubeConfig()
  try {
    const isEmpty = readFileSync(file, 'utf8').trim() === ''
    if (!isEmpty) config.loadFromFile(file)
  } catch (error) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `the kubeconfig ${file} cannot be read: ${messageOf(error)}`,
      { cause: error },
    )
  }
  return config
}

/** The library's own merge lets the last current context win, and refuses names that two files have. */
function merged(configs: readonly KubeConfig[]): KubeConfig {
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: firstOfName(configs.flatMap((one) => one.getClusters())),
    users: firstOfName(configs.flatMap((one) => one.getUsers())),
    contexts: firstOfName(configs.flatMap((one) => one.getContexts())),
    currentContext: configs.map((one) => one.getCurrentContext()).find((name) => isGiven(name)),
  })
  return config
}

function firstOfName<Named extends { readonly name: string }>(all: readonly Named[]): Named[] {
  const found = new Map<string, Named>()
  for (const one of all) if (!found.has(one.name)) found.set(one.name, one)
  return [...found.values()]
}

function isGiven(name: string | undefined): boolean {
  return name !== undefined && name !== ''
}

function names(config: KubeConfig): string {
  const all = config.getContexts().map(({ name }) => name)
  const more = all.length - NAMES_MAX
  const listed = all.slice(0, NAMES_MAX).join(', ')
  if (all.length === 0) return 'it has none'
  return more > 0 ? `${listed} and ${more} more` : listed
}

function invalid(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', message)
}
