import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import path from 'node:path'
import { EXIT } from '../../lib/process/exit-codes.ts'
import type { LauncherSettings } from '../config.ts'
import { CliError } from '../process/exit.ts'

/** By platform, how one gets etcd. */
const WAYS: Readonly<Partial<Record<NodeJS.Platform, string>>> = {
  linux: 'Debian and Ubuntu: apt-get install etcd-server; Fedora: dnf install etcd',
  darwin: 'macOS: brew install etcd',
  win32: 'Windows: winget install etcd.etcd, or run Quarry in WSL',
}

/** The path of the etcd to run: the one that QUARRY_ETCD names, or the first one in PATH. */
export async function findEtcd(
  { etcd, path: directories }: LauncherSettings,
  platform: NodeJS.Platform = process.platform,
): Promise<string> {
  const suffix = platform === 'win32' ? '.exe' : ''
  const candidates =
    etcd === undefined ? directories.map((each) => path.join(each, `etcd${suffix}`)) : [etcd]
  for (const candidate of candidates) {
    if (await isExecutable(candidate)) return candidate
  }
  const missing = etcd === undefined ? 'etcd is not in PATH' : `QUARRY_ETCD: ${etcd} is no program`
  const way = WAYS[platform] ?? 'get one for your system'
  const message =
    `${missing}; a cluster keeps its configuration there.\n` +
    `${way}.\nReleases: https://github.com/etcd-io/etcd/releases. QUARRY_ETCD names one that is elsewhere.`
  throw new CliError(EXIT.configuration, 'CONFIGURATION', message)
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
