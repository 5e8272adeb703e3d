// Package s3 stores objects for the one-process deployment: an engine that serves the part of S3's REST
// protocol that a client of versioned buckets needs, to the production SDK client. Buckets are in the path
// (https://HOST/BUCKET/KEY), not in the name of the host.
//
// These rules hold:
//
//   - A write is acknowledged only after it has reached the disk, contents and all.
//   - Two writes with one condition do not both succeed: the condition is evaluated in the transaction that
//     adds the version.
//   - The metadata of versions is in the data file. The contents are in files of their own, because the
//     data file is read whole when it is opened, and its newest part is held in memory. A file of a content
//     is never changed: a process that is killed leaves at most a file that no version refers to, which the
//     next Open removes.
//   - A content is compared with its SHA-256 whenever it is read. Damage is an error, not an answer.
//   - A request with a parameter or a header that this engine does not implement is refused with
//     NotImplemented (501), never ignored.
//
// It serves CreateBucket, HeadBucket, PutBucketVersioning and GetBucketVersioning (Enabled), and
// PutBucketLifecycleConfiguration and GetBucketLifecycleConfiguration (days of objects, of versions that are
// not current any more, and of their delete markers, by a prefix); ListObjectsV2 and ListObjectVersions without delimiters; PutObject with
// If-Match and If-None-Match, GetObject and HeadObject with ranges, conditions and version ids, and
// DeleteObject with If-Match, or of one version. An object is at most 64 MB. It differs from S3 in that:
//
//   - only a bucket with versioning stores objects;
//   - no object has the checksum that S3 adds by itself (CRC64NVME), only the one that was sent;
//   - lifecycle rules are applied at Open, and hourly by a write, not once a day;
//   - a conflict between concurrent writes is decided at once: ConditionalRequestConflict (409) never occurs;
//   - signatures are not verified: any client that reaches the handler is trusted.
package s3
