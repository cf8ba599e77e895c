import { readdir } from 'node:fs/promises'
import path from 'node:path'
import type { StoreUnderTest } from './store-under-test.ts'

/** The directories of text indexes of all shards on all nodes. */
export async function indexDirectoriesOf({ dataDirs }: StoreUnderTest): Promise<readonly string[]> {
  const ofShards = await Promise.all(
    dataDirs.map((dataDir) => inside(path.join(dataDir, 'indexes'))),
  )
  return (await Promise.all(ofShards.flat().map(inside))).flat()
}

/** The paths of what is in a directory; none if it does not exist. */
export async function inside(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch((): string[] => [])
  return names.map((name) => path.join(directory, name))
}
