import { open, rename } from 'node:fs/promises'
import path from 'node:path'

/**
 * Replaces a file. After a crash the file has its old content or its new content, each whole. The
 * new content is durable when the promise resolves. A crash may leave `<file>.new`, which the next
 * call overwrites.
 */
export async function replaceFile(file: string, content: string): Promise<void> {
  const next = `${file}.new`
  const handle = await open(next, 'w', 0o600)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(next, file)
  await syncDirectory(path.dirname(file))
}

/** Makes the creation, renaming and removal of the directory's children survive a power failure. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
