// A Kubernetes for the tests. `api` answers requests and runs Kubernetes' own controllers, but no pods; `node` runs pods
// on three nodes. test/e2e/kube makes both; QUARRY_E2E_KUBECONFIG names any other cluster instead.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { outputOf, type ProgramOptions } from './program.ts'

export type TierName = 'api' | 'node'

export interface Tier {
  readonly name: TierName
  readonly kubeconfig: string
  /** Whether test/e2e/kube made it, which can take away a node's power; another cluster is only asked. */
  readonly isOwn: boolean
  /** Absent for another cluster, unless QUARRY_E2E_AUDIT_LOG names its file. */
  readonly auditLog: string | undefined
  /** kubectl, for those who read what it prints while it runs. */
  readonly program: string
  /** What kubectl prints. */
  readonly kubectl: (args: readonly string[], options?: ProgramOptions) => Promise<string>
}

export const KUBE = path.resolve(import.meta.dirname, '../kube')
/** Building all components takes 20 minutes of processor time, and other work may share it. */
export const START_LIMIT_MS = 90 * 60_000

/** The kubeconfig of a cluster that test/e2e/kube did not make, if the tests are to use one. */
export function otherKubeconfig(): string | undefined {
  const other = process.env['QUARRY_E2E_KUBECONFIG']
  return other === '' ? undefined : other
}

/** Starts the tier unless it is up, and leaves it up: test/e2e/run.ts ends what it has started. */
export async function openTier(name: TierName): Promise<Tier> {
  const other = otherKubeconfig()
  if (other !== undefined) {
    const auditLog = process.env['QUARRY_E2E_AUDIT_LOG']
    return tierWith({ name, kubeconfig: other, isOwn: false, auditLog, program: 'kubectl' })
  }
  await shownProgram([path.join(KUBE, 'up'), name])
  const state = process.env['QUARRY_KUBE_STATE'] ?? '/var/tmp/quarry-kube'
  const [kubeconfig, binaries] = await Promise.all([
    outputOf([path.join(KUBE, 'kubeconfig'), name]),
    ownBinaries(),
  ])
  return tierWith({
    name,
    kubeconfig: kubeconfig.trim(),
    isOwn: true,
    auditLog: path.join(state, name, name === 'node' ? 'log' : '', 'audit.log'),
    program: path.join(binaries, 'kubectl'),
  })
}

/** Where test/e2e/kube keeps what it has built. */
export async function ownBinaries(): Promise<string> {
  return (await outputOf([path.join(KUBE, 'where')])).trim()
}

export async function isTierUp(name: TierName): Promise<boolean> {
  try {
    const kubeconfig = await outputOf([path.join(KUBE, 'kubeconfig'), name])
    const env = { KUBECONFIG: kubeconfig.trim() }
    await outputOf([path.join(KUBE, 'kubectl'), 'get', '--raw=/readyz'], { env, limitMs: 5000 })
    return true
  } catch {
    return false
  }
}

export async function closeTier(name: TierName): Promise<void> {
  await shownProgram([path.join(KUBE, 'down'), name])
}

function tierWith(tier: Omit<Tier, 'kubectl'>): Tier {
  return {
    ...tier,
    kubectl: (args, options = {}) =>
      outputOf([tier.program, ...args], {
        ...options,
        env: { ...options.env, KUBECONFIG: tier.kubeconfig },
      }),
  }
}

/** Its lines go to standard error, so that a reader sees what takes minutes. */
async function shownProgram([program, ...args]: readonly [string, ...string[]]): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', process.stderr, process.stderr] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${path.basename(program)} ${args.join(' ')} failed`)
}
