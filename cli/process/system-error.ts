/** What the operating system refused: its message names the code, the call and the place. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return false
  return typeof error.code === 'string' && typeof error.syscall === 'string'
}
