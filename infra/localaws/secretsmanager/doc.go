// Package secretsmanager stores the secrets of the one-process deployment: an engine that serves
// the Secrets Manager protocol (AWS JSON 1.1) to the production SDK client, over one file.
//
// These rules hold:
//
//   - A write is acknowledged only after its file has reached the disk. The file is
//     replaced whole: a process that is killed at any moment leaves the old file or
//     the new one.
//   - The file has mode 0600, in a folder that is made with 0700. A file that others
//     may read is refused, not repaired: its keys may have been read already, and
//     the owner should know. The message names the command that repairs it.
//   - Secrets that were given in memory are read like others, refuse writes, and
//     never reach the disk. They hide a stored one of the same name.
//   - No error, log line or printed value holds any part of a secret.
//   - Readers never wait for a write to reach the disk.
//
// Only one process at a time may have the file: the caller ensures this, as the lock of the data
// folder does.
//
// It serves CreateSecret, PutSecretValue, UpdateSecret, GetSecretValue, DescribeSecret,
// DeleteSecret, RestoreSecret and ListSecrets, for secrets that are text. Other features (binary
// secrets, keys of KMS, tags, rotation, replicas, resource policies, custom staging labels) are
// refused, never ignored. Deletion with a recovery window is supported: the secret is gone once the
// window is over, by the clock, and leaves the file with the next write or start. It differs from
// AWS in that:
//
//   - a version that lost its labels is dropped at once; the last 100 of them are
//     kept as digests, so that repeating their ClientRequestToken has the same
//     result as on AWS;
//   - the last access is not recorded, and secrets are listed by name;
//   - a deletion without recovery is complete when it is acknowledged;
//   - signatures are not verified: any client that reaches the handler is trusted.
package secretsmanager
