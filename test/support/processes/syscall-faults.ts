// System calls of a real process that fail, by strace.

export interface SyscallFault {
  readonly calls: readonly string[]
  readonly error: 'EIO' | 'ENOSPC'
  /** Only calls on these files. */
  readonly files: readonly string[]
  /** Each thread's calls from this one on; from 1. */
  readonly from: number
}

/** The command that runs a program in which such calls fail without having done anything. */
export function failing({ calls, error, files, from }: SyscallFault): readonly string[] {
  const list = calls.join()
  const paths = files.flatMap((file) => ['-P', file])
  const inject = `inject=${list}:error=${error}:when=${from}+`
  return ['strace', '-f', '--seccomp-bpf', ...paths, '-e', `trace=${list}`, '-e', inject].concat([
    '-s',
    '16',
    '-o',
    '/dev/null',
    '--',
  ])
}
