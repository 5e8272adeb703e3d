// Package dynamodb is an embedded DynamoDB: an http.Handler that speaks the
// DynamoDB JSON 1.0 protocol over one disk.Store, for the one-process deployment
// and for tests. The production SDK client talks to it unchanged.
//
// These rules hold:
//
//   - An acknowledged write is on disk. Writes check and apply inside one
//     disk.Update, so conditions and transactions are serialisable, and concurrent
//     writers share one fsync. With WithConflicts, transactions take time, and
//     those that meet are refused, as in the service.
//   - A refused request changes nothing. Its error has AWS's type and AWS's text,
//     as observed on the service.
//   - Numbers are exact decimals of up to 38 digits; sort keys order as AWS
//     orders them (numbers by value, strings and binaries by byte).
//   - An index entry exists exactly when its item has all of the index's keys,
//     and is written in the same transaction as the item. Index reads are
//     therefore always consistent, which AWS does not promise.
//   - TTL only cleans up: an expired item may still be read, at least once.
//   - Table definitions change only while no item operation runs (Engine.ddl).
//
// It refuses PartiQL, streams, local secondary indexes, global tables and backups,
// with an error that names the feature. The parameters from before expressions are
// supported (legacy.go). It verifies no signatures: serve it on loopback only.
//
// Storage: bucket "ddb/tables" holds the definitions; "ddb/t/ID" the items of a
// table, "ddb/i/ID/INDEX" an index's entries, "ddb/x/ID" the items that expire,
// by time; "ddb/tokens" and "ddb/tokens-at" the client request tokens.
// Keys begin with four bytes of the partition key's hash, as scans are divided
// by it (key.go); items are encoded compactly under a checksum (codec.go).
package dynamodb
