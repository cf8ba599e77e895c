// What the journal needs of a disk, and no more: so that a test can put a disk in its place that
// loses power, tears writes and lies about directories exactly as a real one may.

/**
 * One open segment file.
 *
 * Contract, checked for every implementation by test/conformance/journal-directory.ts:
 * - `write` puts the parts one behind the other at `position`, and resolves when they, and whatever
 *   the file's size and allocation need to find them again, survive a power failure. A rejected
 *   write has left an unknown part of its bytes on disk, now or later.
 * - `read` resolves to the bytes from `position`, fewer at the end of the file.
 * - `sync` resolves when whatever the file shows survives a power failure, whoever wrote it: a write of
 *   a process that was killed may have been seen by nobody but the system's memory.
 * - Writes are not called while another one of the same file is under way.
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
 * - `list` names the files that are there, in any order.
 * - `allocate` makes a file of `bytes` zeros and syncs its content, but not the directory; when the
 *   disk has no room it removes what it made and fails with DISK_FULL.
 * - `rename` and `remove` change the directory; neither this nor a new file survives a power failure
 *   before `sync` has resolved.
 * - `open` fails when the file is not there.
 */
export interface JournalDirectory {
  list(): Promise<readonly string[]>
  open(name: string): Promise<SegmentFile>
  allocate(name: string, bytes: number): Promise<void>
  rename(from: string, to: string): Promise<void>
  remove(name: string): Promise<void>
  sync(): Promise<void>
}
