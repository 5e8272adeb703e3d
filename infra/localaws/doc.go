// Package localaws serves what AWS does, in one process and over one data file: DynamoDB,
// Step Functions and Secrets Manager behind one handler (Services), and, each in a package
// of its own, Lambda's Runtime API, API Gateway's events and sockets, and the reading of a
// SAM template.
//
// What must stay true: a request is answered as AWS answers it, byte for byte where a client
// can notice, or it is refused as AWS refuses what it does not know. Nothing is answered
// that is not on disk. The module knows nothing of any program that uses it.
package localaws
