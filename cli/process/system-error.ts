/** Whether the operating system refused a call. Its message names the code, the call and the path. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  if (!(error instanceof Error && 'code' in error && 'syscall' in error)) return false
  return typeof error.code === 'string' && typeof error.syscall === 'string'
}
