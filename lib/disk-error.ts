/**
 * The code of a failed file operation, by the errno that Node gives it: DISK_FULL for a full disk or
 * quota, CORRUPTION for a sector that cannot be read. Undefined for every other error.
 *
 * LevelDB reports texts without an errno: node/storage/level-error.ts reads those.
 */
export function diskErrorCode(error: unknown): 'DISK_FULL' | 'CORRUPTION' | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  switch (error.code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return 'DISK_FULL'
    case 'EIO':
      return 'CORRUPTION'
    default:
      return undefined
  }
}
