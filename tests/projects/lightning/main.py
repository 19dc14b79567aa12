import lightning.pytorch as pl
from module import Classifier
from nets import Net

if __name__ == "__main__":
    net = Net(classes=3)
    module = Classifier(net)
    pl.Trainer(max_epochs=1).fit(module)
