// Package localaws serves AWS in one process and over one data file. DynamoDB, Step Functions, S3
// and Secrets Manager are behind one handler (Services). Lambda's Runtime API, API Gateway's events and
// sockets, and the reading of a SAM template have packages of their own.
//
// These rules hold: a response equals that of AWS in every byte that a client can notice. A request
// that is not supported is refused with AWS's own error. A write is acknowledged after it is on
// disk. The module knows nothing of the programs that use it.
package localaws
