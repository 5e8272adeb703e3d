// Package secretsmanager owns the secrets of the one-process deployment: an
// engine that answers the Secrets Manager protocol (AWS JSON 1.1) to the
// production SDK client, over one file.
//
// What must stay true:
//
//   - A write is acknowledged only after the file that holds it has reached the
//     disk. The file is replaced whole: a process killed at any moment leaves
//     the one before or the one after.
//   - The file has mode 0600, in a folder that is made with 0700. One that others
//     may read is refused, not mended: its keys may have been read already, and
//     somebody should know. The message says which command mends it.
//   - Secrets that were given in memory answer like others, refuse to be written,
//     and never reach the disk. They hide a kept one of the same name.
//   - No error, log line or printed value holds any part of a secret.
//   - Readers never wait for a write to reach the disk.
//
// One process at a time may have the file: the caller sees to it, as the lock of
// the data folder does.
//
// It serves CreateSecret, PutSecretValue, UpdateSecret, GetSecretValue,
// DescribeSecret, DeleteSecret, RestoreSecret and ListSecrets, for secrets that
// are text. What it has not (binary secrets, keys of KMS, tags, rotation,
// replicas, resource policies, staging labels of one's own) is refused, never
// ignored. Deletion with a recovery window is honoured: the secret is gone once
// the window is over, by the clock, and leaves the file with the next write or
// start. It differs from AWS in that:
//
//   - a version that lost its labels is dropped at once; the last 100 of them are
//     remembered by a digest, so that repeating their ClientRequestToken does
//     what it does on AWS;
//   - the last access is not recorded, and secrets are listed by name;
//   - a deletion without recovery is done when it is answered;
//   - signatures are not looked at: whoever reaches the handler is trusted.
package secretsmanager
