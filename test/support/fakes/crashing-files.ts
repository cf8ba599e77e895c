// A directory that loses power. While it is active, the file functions of node:fs fail at a chosen step,
// and changes that were not synced by then may be lost.
//
// A file's content is safe once the file was synced, and its name once the directory was, after it
// was created, renamed or removed. Each unsafe change may be there or not, independently.
// Reading goes past this.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import type { Random } from '../../../lib/random.ts'

/** The error of every call after the power failed. */
export class PowerFailure extends Error {}

/** Which of the changes that were not synced are on the disk afterwards. */
export type Survival = 'everything' | 'only what was synced' | 'chance'

interface TrackedFile {
  /** As of its last sync; what is written later comes behind it. */
  synced: Buffer
}

/** What is replaced while power may fail, as it is otherwise. */
const CHANGED = {
  openSync: fs.openSync,
  closeSync: fs.closeSync,
  writeSync: fs.writeSync,
  writeFileSync: fs.writeFileSync,
  fsyncSync: fs.fsyncSync,
  fdatasyncSync: fs.fdatasyncSync,
  renameSync: fs.renameSync,
  rmSync: fs.rmSync,
}
const real = { ...CHANGED, readdirSync: fs.readdirSync, readFileSync: fs.readFileSync }

/** Replaces functions of node:fs until it is disposed. */
export class CrashingFiles {
  steps = 0
  readonly #directory: string
  readonly #failsAt: number
  #hasFailed = false
  #names = new Map<string, TrackedFile>()
  #syncedNames = new Map<string, TrackedFile>()
  readonly #open = new Map<number, TrackedFile | 'directory'>()

  /** Fails before that step, counted from 1. Takes what lies in the directory as synced. */
  constructor(directory: string, failsAt: number) {
    this.#directory = directory
    this.#failsAt = failsAt
    for (const name of real.readdirSync(directory)) {
      this.#names.set(name, { synced: real.readFileSync(path.join(directory, name)) })
    }
    this.#syncedNames = new Map(this.#names)
  }

  /** Ends where power fails; what is run after that changes nothing on the disk. */
  run(action: () => void): void {
    Object.assign(fs, this.#functions())
    syncBuiltinESMExports()
    try {
      action()
    } catch (error) {
      if (!(error instanceof PowerFailure)) throw error
    } finally {
      Object.assign(fs, CHANGED)
      syncBuiltinESMExports()
    }
  }

  /** As `run`, of what also waits. Nothing else in the process may use files meanwhile. */
  async runAsync(action: () => Promise<void>): Promise<void> {
    Object.assign(fs, this.#functions())
    syncBuiltinESMExports()
    try {
      await action()
    } catch (error) {
      if (!(error instanceof PowerFailure)) throw error
    } finally {
      Object.assign(fs, CHANGED)
      syncBuiltinESMExports()
    }
  }

  /** Leaves on the disk what a power failure now would leave. */
  settle(survival: Survival, random: Random): void {
    if (survival === 'everything') return
    const isKept = (): boolean => survival === 'chance' && random() < 0.5
    const contents = new Map<string, Buffer>()
    for (const name of new Set([...this.#names.keys(), ...this.#syncedNames.keys()])) {
      const [now, synced] = [this.#names.get(name), this.#syncedNames.get(name)]
      const file = now === synced || isKept() ? now : synced
      if (file === undefined) continue
      const written = file === now ? real.readFileSync(this.#path(name)) : file.synced
      const lost = isKept() ? Math.floor(random() * (written.length - file.synced.length + 1)) : 0
      contents.set(name, isKept() ? written.subarray(0, written.length - lost) : file.synced)
    }
    for (const name of real.readdirSync(this.#directory)) real.rmSync(this.#path(name))
    for (const [name, content] of contents) real.writeFileSync(this.#path(name), content)
  }

  #path(name: string): string {
    return path.join(this.#directory, name)
  }

  #functions(): Partial<typeof fs> {
    return {
      openSync: (at, flags, mode) => this.#openSync(String(at), flags, mode),
      closeSync: (fd) => {
        this.#open.delete(fd)
        real.closeSync(fd)
      },
      writeSync: (...args: unknown[]) =>
        this.#step(() => Reflect.apply(real.writeSync, undefined, args)),
      writeFileSync: (file, data) => this.#step(() => real.writeFileSync(file, data)),
      fsyncSync: (fd) => this.#step(() => this.#sync(fd)),
      fdatasyncSync: (fd) => this.#step(() => this.#sync(fd)),
      renameSync: (from, to) => this.#step(() => this.#rename(String(from), String(to))),
      rmSync: (at, options) => {
        // Code that would tidy up after the failure is dead as well.
        if (!this.#hasFailed) this.#step(() => this.#remove(String(at), options))
      },
    }
  }

  #step<Result>(act: () => Result): Result {
    if (this.#hasFailed) throw new PowerFailure()
    this.steps += 1
    if (this.steps < this.#failsAt) return act()
    this.#hasFailed = true
    throw new PowerFailure()
  }

  #openSync(at: string, flags: fs.OpenMode = 'r', mode: fs.Mode | null | undefined): number {
    if (flags === 'r') {
      const fd = real.openSync(at, flags, mode)
      if (at === this.#directory) this.#open.set(fd, 'directory')
      return fd
    }
    return this.#step(() => {
      const fd = real.openSync(at, flags, mode)
      const file = { synced: Buffer.alloc(0) }
      this.#names.set(path.basename(at), file)
      this.#open.set(fd, file)
      return fd
    })
  }

  #sync(fd: number): void {
    const opened = this.#open.get(fd)
    if (opened === 'directory') this.#syncedNames = new Map(this.#names)
    else if (opened !== undefined) opened.synced = this.#contentOf(opened)
  }

  #contentOf(file: TrackedFile): Buffer {
    const found = [...this.#names].find(([, other]) => other === file)
    return found === undefined ? file.synced : real.readFileSync(this.#path(found[0]))
  }

  #rename(from: string, to: string): void {
    real.renameSync(from, to)
    const file = this.#names.get(path.basename(from))
    this.#names.delete(path.basename(from))
    if (file !== undefined) this.#names.set(path.basename(to), file)
  }

  #remove(at: string, options: fs.RmOptions | undefined): void {
    real.rmSync(at, options)
    this.#names.delete(path.basename(at))
  }
}
