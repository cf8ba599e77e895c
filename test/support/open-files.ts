import { readdirSync, readlinkSync } from 'node:fs'

/** The files below a directory that this process has open, as Linux tells them; a removed one is still told. */
export function openFilesBelow(directory: string): readonly string[] {
  const files = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return [] // the list itself
    }
  })
  return files.filter((file) => file.startsWith(directory))
}
