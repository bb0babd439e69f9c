package org.apache.spark.sql.indextables

import java.io.{BufferedInputStream, BufferedOutputStream, DataInputStream, DataOutputStream, IOException}
import java.net.{StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.channels.{Channels, ClosedByInterruptException, SocketChannel}
import java.util.concurrent.ConcurrentLinkedDeque

import org.apache.spark.api.python.PythonWorkerUtils

/**
 * Direct connections ("lines") to the planner process. A call through Spark's Python runner takes about a millisecond,
 * a call over a line a fraction of that. Spark still owns the process and ends it when it is idle. Then the connections
 * are dead, and `listen` asks, through Spark's runner, where the next process accepts calls.
 */
class Lines(listen: () => Option[String], ping: String) {
  private val free = new ConcurrentLinkedDeque[Line]()
  private var place: Option[String] = None
  private var possible = true

  /**
   * The answer, or None if no line can be opened. A repeatable call that fails with its line is sent again over a line
   * to the next process. Any other call is sent only over a line that has just answered a ping, and fails if the process
   * ends before it answers.
   */
  def call(operation: String, body: String, repeatable: Boolean): Option[Reply] = {
    def over(line: Option[Line]): Option[Reply] = line.flatMap(send(_, operation, body, repeatable))
    if (repeatable) over(take()).orElse(over(take())) else over(takeAlive().orElse(takeAlive()))
  }

  private def send(line: Line, operation: String, body: String, repeatable: Boolean): Option[Reply] =
    try {
      val reply = line.call(operation, body)
      free.push(line)
      Some(reply)
    } catch {
      case e: IOException if !e.isInstanceOf[ClosedByInterruptException] =>
        line.close()
        forget()
        Monitoring.lost()
        if (repeatable) None else throw e
      case e: Throwable => // the query was canceled, or the answer is invalid: the state of the connection is unknown
        line.close()
        throw e
    }

  /** A line whose process has just answered a ping. */
  private def takeAlive(): Option[Line] = take().filter(line => send(line, "ping", ping, repeatable = true).isDefined)
    .flatMap(_ => Option(free.poll()))

  private def take(): Option[Line] = Option(free.poll()).orElse(find().flatMap(open))

  private def find(): Option[String] = synchronized {
    if (place.isEmpty && possible) {
      place = listen()
      possible = place.isDefined
    }
    place
  }

  private def open(name: String): Option[Line] =
    try Some(new Line(name)) catch { case _: IOException => forget(); None }

  /**
   * Close lines that were opened for many concurrent queries and are idle now: each holds a thread of the planner,
   * with its own memory. One line stays open.
   */
  def closeIdle(seconds: Long): Unit = {
    val before = System.nanoTime() - seconds * 1000000000L
    // the least recently used are at the end
    Iterator.continually(free.peekLast())
      .takeWhile(last => last != null && last.lastUse < before && last != free.peekFirst())
      .foreach(last => if (free.remove(last)) last.close())
  }

  /** The process is gone: drop its location and all lines to it. */
  private def forget(): Unit = synchronized {
    place = None
    Iterator.continually(free.poll()).takeWhile(_ != null).foreach(_.close())
  }
}

private class Line(name: String) {
  private val channel = SocketChannel.open(StandardProtocolFamily.UNIX)
  channel.connect(UnixDomainSocketAddress.of(name))
  private val out = new DataOutputStream(new BufferedOutputStream(Channels.newOutputStream(channel)))
  private val in = new DataInputStream(new BufferedInputStream(Channels.newInputStream(channel)))

  @volatile var lastUse: Long = System.nanoTime()

  def call(operation: String, body: String): Reply = {
    PythonWorkerUtils.writeUTF(operation, out)
    PythonWorkerUtils.writeUTF(body, out)
    out.flush()
    val reply = Reply.read(operation, in)
    lastUse = System.nanoTime()
    reply
  }
  def close(): Unit = channel.close()
}
