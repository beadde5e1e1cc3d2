import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;
import org.apache.hadoop.hdfs.server.namenode.NameNodeAdapter;

/**
 * An HDFS in one process, for tests: java Rig.java DIR DATANODES single|ha. It keeps its files in DIR/data, writes what a client needs to
 * DIR/conf, prints "rig up", and then does what it reads from standard input, a command a line, answering each with "rig ok" or "rig failed:
 * why". It ends when its input ends, so that it never outlives the test that started it.
 */
public class Rig {
  private static final String SERVICE = "rig"; // the name service of two name nodes

  private final MiniDFSCluster dfs;

  private Rig(Path dir, int dataNodes, boolean ha) throws Exception {
    Configuration conf = new Configuration();
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, dir.resolve("data").toString());
    conf.setInt("dfs.replication", Math.min(2, dataNodes));
    conf.setInt("dfs.blocksize", 1 << 20);
    conf.setInt("dfs.namenode.fs-limits.min-block-size", 512);
    conf.setInt("dfs.namenode.safemode.extension", 0);
    conf.setBoolean("dfs.permissions.enabled", true);
    MiniDFSCluster.Builder b = new MiniDFSCluster.Builder(conf).numDataNodes(dataNodes);
    dfs = (ha ? b.nnTopology(MiniDFSNNTopology.simpleHATopology()) : b).build();
    if (ha) {
      dfs.transitionToActive(0);
    }
    dfs.waitActive();
    write(dir.resolve("conf"), ha);
  }

  /** Writes only what administrators hand out, so that a client cannot lean on what a client would not have. */
  private void write(Path dir, boolean ha) throws Exception {
    Configuration core = new Configuration(false);
    Configuration hdfs = new Configuration(false);
    if (ha) {
      core.set("fs.defaultFS", "hdfs://" + SERVICE);
      hdfs.set("dfs.nameservices", SERVICE);
      hdfs.set("dfs.ha.namenodes." + SERVICE, "nn1,nn2");
      for (int i = 0; i < 2; i++) {
        String key = "." + SERVICE + ".nn" + (i + 1);
        hdfs.set("dfs.namenode.rpc-address" + key, address(dfs.getNameNode(i).getNameNodeAddress()));
        hdfs.set("dfs.namenode.http-address" + key, address(dfs.getNameNode(i).getHttpAddress()));
      }
    } else {
      core.set("fs.defaultFS", dfs.getURI().toString());
      hdfs.set("dfs.namenode.http-address", address(dfs.getNameNode().getHttpAddress()));
    }
    Files.createDirectories(dir);
    save(core, dir.resolve("core-site.xml"));
    save(hdfs, dir.resolve("hdfs-site.xml"));
  }

  private static String address(InetSocketAddress a) {
    return a.getHostString() + ":" + a.getPort();
  }

  private static void save(Configuration conf, Path file) throws Exception {
    try (OutputStream out = Files.newOutputStream(file)) {
      conf.writeXml(out);
    }
  }

  private void run(String... words) throws Exception {
    switch (words[0]) {
      case "stop-data": // NODE
        dfs.stopDataNode(Integer.parseInt(words[1]));
        break;
      case "active": // NAMENODE becomes the one that answers
        int next = Integer.parseInt(words[1]);
        dfs.transitionToStandby(1 - next);
        dfs.transitionToActive(next);
        break;
      case "standby": // NAMENODE, so that for a while none may answer
        dfs.transitionToStandby(Integer.parseInt(words[1]));
        break;
      case "safe-mode": // on or off
        if (words[1].equals("on")) {
          NameNodeAdapter.enterSafeMode(dfs.getNameNode(), false);
        } else {
          NameNodeAdapter.leaveSafeMode(dfs.getNameNode());
        }
        break;
      default:
        throw new IllegalArgumentException("no command " + words[0]);
    }
  }

  public static void main(String[] args) throws Exception {
    Rig rig = new Rig(Paths.get(args[0]), Integer.parseInt(args[1]), args[2].equals("ha"));
    System.out.println("rig up");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      try {
        rig.run(line.split(" "));
        System.out.println("rig ok");
      } catch (Exception e) {
        System.out.println("rig failed: " + e);
      }
    }
    Runtime.getRuntime().halt(0); // the files are the test's to remove
  }
}
