// CRC-32C (Castagnoli), by which LevelDB protects the blocks of its table files. Node has only the other CRC-32.

const POLYNOMIAL = 0x82f63b78
const TABLES = buildTables()

/**
 * The checksum of `bytes`, an unsigned number. With `before`, the checksum of the bytes in front of them, it is
 * that of both together. It takes about 4 ms for a MiB.
 */
export function crc32c(bytes: Uint8Array, before = 0): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const wholeEnd = bytes.length - (bytes.length % 8)
  let crc = ~before
  let at = 0
  for (; at < wholeEnd; at += 8) {
    const low = crc ^ view.getUint32(at, true)
    const high = view.getUint32(at + 4, true)
    crc =
      of(t7, low & 0xff) ^
      of(t6, (low >>> 8) & 0xff) ^
      of(t5, (low >>> 16) & 0xff) ^
      of(t4, low >>> 24) ^
      of(t3, high & 0xff) ^
      of(t2, (high >>> 8) & 0xff) ^
      of(t1, (high >>> 16) & 0xff) ^
      of(t0, high >>> 24)
  }
  for (; at < bytes.length; at++) crc = (crc >>> 8) ^ of(t0, (crc ^ view.getUint8(at)) & 0xff)
  return ~crc >>> 0
}

type Table = Int32Array

function of(table: Table, at: number): number {
  return table[at] ?? 0
}

function newTable(): Table {
  return new Int32Array(256)
}

/** Table k advances a byte over k bytes of zeros behind it. */
function buildTables(): readonly [Table, Table, Table, Table, Table, Table, Table, Table] {
  const tables = [
    newTable(),
    newTable(),
    newTable(),
    newTable(),
    newTable(),
    newTable(),
    newTable(),
    newTable(),
  ] as const
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : (crc >>> 1) ^ POLYNOMIAL
    tables[0][byte] = crc
  }
  for (let byte = 0; byte < 256; byte++) {
    let crc = of(tables[0], byte)
    for (const later of tables.slice(1)) {
      crc = of(tables[0], crc & 0xff) ^ (crc >>> 8)
      later[byte] = crc
    }
  }
  return tables
}
