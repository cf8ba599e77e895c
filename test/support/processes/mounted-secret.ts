// A Secret as a kubelet mounts it: each name leads by the link `..data` to a directory, and an update replaces the link.

import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'

const DATA = '..data'

export class MountedSecret {
  readonly #directory: string
  #updates = 0

  private constructor(directory: string) {
    this.#directory = directory
  }

  static async mount(
    directory: string,
    contents: Readonly<Record<string, string>>,
  ): Promise<MountedSecret> {
    await mkdir(directory)
    const mounted = new MountedSecret(directory)
    await mounted.update(contents)
    for (const name of Object.keys(contents)) {
      await symlink(path.join(DATA, name), mounted.file(name))
    }
    return mounted
  }

  file(name: string): string {
    return path.join(this.#directory, name)
  }

  /** All files at once, and never one of them half. The directory of before goes. */
  async update(contents: Readonly<Record<string, string>>): Promise<void> {
    const former = this.file(`..${this.#updates}`)
    this.#updates += 1
    const name = `..${this.#updates}`
    await mkdir(this.file(name))
    for (const [file, content] of Object.entries(contents)) {
      await writeFile(path.join(this.file(name), file), content, { mode: 0o640 })
    }
    await symlink(name, this.file(`${DATA}_tmp`))
    await rename(this.file(`${DATA}_tmp`), this.file(DATA))
    await rm(former, { recursive: true, force: true })
  }
}
