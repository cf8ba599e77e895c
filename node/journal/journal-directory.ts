// The journal's interface to the disk. Tests implement it with a disk that loses power, tears
// writes and forgets unsynced directories, as a real one may.

/**
 * One open segment file.
 *
 * Contract, checked for every implementation by test/conformance/journal-directory.ts:
 * - `write` writes the parts one after the other at `position`. It resolves once the parts, and the
 *   file's size and allocation, survive a power failure. A rejected write leaves an unknown part of
 *   its bytes on disk, at once or later.
 * - `read` resolves to the bytes from `position`, and to fewer at the end of the file.
 * - `sync` resolves once all visible content survives a power failure, whichever process wrote it.
 *   Only the system's memory may hold the last write of a killed process.
 * - The caller does not write to a file during another write to it.
 */
export interface SegmentFile {
  write(parts: readonly Uint8Array[], position: number): Promise<void>
  read(position: number, length: number): Promise<Buffer>
  size(): Promise<number>
  sync(): Promise<void>
  close(): Promise<void>
}

/**
 * The directory of the segments.
 *
 * Contract, checked by the same suite:
 * - `list` names the existing files, in any order.
 * - `allocate` makes a file of `bytes` zeros and syncs its content, but not the directory. If the
 *   disk has no room, it removes the file and fails with DISK_FULL.
 * - `rename` and `remove` change the directory. Neither they nor a new file survive a power failure
 *   before `sync` has resolved.
 * - `open` fails if the file does not exist.
 */
export interface JournalDirectory {
  list(): Promise<readonly string[]>
  open(name: string): Promise<SegmentFile>
  allocate(name: string, bytes: number): Promise<void>
  rename(from: string, to: string): Promise<void>
  remove(name: string): Promise<void>
  sync(): Promise<void>
}
